package fieldmanager

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/yaml"
)

// TestHistories runs the files of testdata/histories. A file is a sequence of
// steps with blank lines between them:
//
//	command words
//	body in YAML
//	----
//	what it gives
//
// A write gives the object, without its managed fields, and then a line for
// each entry: who, how, the apiVersion, when, and what is owned. The clock
// goes on by a second with every step. The commands are
//
//	type V KIND [V..]      forget the object; a built-in kind, or one whose openAPIV3Schema is
//	                       the body, in the versions V
//	in V                   go on in another version
//	schema                 another schema for the kind, the object stays
//	create WHO             the body is created
//	update WHO [SUB]       the body replaces the object
//	patch WHO [SUB]        the body is merged into the object, null takes away
//	apply WHO [force] [SUB]  the body is applied
func TestHistories(t *testing.T) {
	files, err := filepath.Glob("testdata/histories/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			h := &history{t: t}
			got := h.run(string(b))
			if *rewrite {
				if err := os.WriteFile(f, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(b) {
				t.Error(firstDifference(string(b), got))
			}
		})
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d:\nwant %s\ngot  %s", i+1, w[i], g[i])
		}
	}
	return fmt.Sprintf("%d lines wanted, %d there", len(w), len(g))
}

type history struct {
	t        *testing.T
	kind     string
	versions []string
	managers map[string]*Manager
	version  string
	live     map[string]any
	seconds  int
}

func (h *history) run(file string) string {
	var out []string
	for step := range strings.SplitSeq(strings.TrimSpace(file), "\n\n") {
		lines := strings.Split(step, "\n")
		start := 0
		for start < len(lines) && strings.HasPrefix(lines[start], "#") {
			start++
		}
		if start == len(lines) {
			out = append(out, step)
			continue
		}
		question, _, _ := strings.Cut(step, "\n----")
		_, body, _ := strings.Cut(strings.Join(lines[start:], "\n"), "\n")
		body, _, _ = strings.Cut("\n"+body, "\n----")
		h.seconds++
		answer := h.step(strings.Fields(lines[start]), body)
		out = append(out, strings.TrimRight(question+"\n----\n"+answer, "\n"))
	}
	return strings.Join(out, "\n\n") + "\n"
}

func (h *history) step(words []string, body string) string {
	command, args := words[0], words[1:]
	switch command {
	case "type":
		h.kind, h.live, h.versions, h.version = args[1], nil, append([]string{args[0]}, args[2:]...), args[0]
		h.makeManagers(body)
		return ""
	case "schema":
		h.makeManagers(body)
		return ""
	case "in":
		h.version = args[0]
		h.live = copyMap(h.live)
		h.live["apiVersion"] = h.version
		return ""
	}
	by := Actor{Manager: args[0], Now: time.Date(2026, 11, 20, 10, 0, h.seconds, 999, time.UTC)}
	force := false
	for _, a := range args[1:] {
		if a == "force" {
			force = true
		} else {
			by.Subresource = a
		}
	}
	obj := h.parse(body)
	err := h.write(command, obj, by, force)
	if err != nil {
		return "error: " + strings.ReplaceAll(err.Error(), "\n", "\n  ")
	}
	return h.show()
}

func (h *history) parse(body string) map[string]any {
	data, err := yaml.YAMLToJSON([]byte(body))
	if err != nil {
		h.t.Fatal(err)
	}
	return parse(h.t, string(data))
}

func (h *history) write(command string, obj map[string]any, by Actor, force bool) error {
	m := h.managers[h.version]
	switch command {
	case "create":
		if err := m.Update(nil, obj, by); err != nil {
			return err
		}
	case "patch", "update":
		if command == "patch" {
			obj = mergePatch(stored(h.t, h.live), obj)
		}
		if err := m.Update(h.live, obj, by); err != nil {
			return err
		}
	case "apply":
		merged, err := m.Apply(h.live, obj, by, force)
		if err != nil {
			return err
		}
		obj = merged
	default:
		h.t.Fatalf("unknown command %q", command)
	}
	h.live = stored(h.t, obj)
	return nil
}

func mergePatch(target, patch map[string]any) map[string]any {
	if target == nil {
		target = map[string]any{}
	}
	for name, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(target, name)
		case map[string]any:
			target[name] = mergePatch(child(target, name), v)
		default:
			target[name] = v
		}
	}
	return target
}

func (h *history) makeManagers(body string) {
	types := map[string]*Type{}
	for _, v := range h.versions {
		types[v] = h.makeType(body)
	}
	h.managers = map[string]*Manager{}
	for _, v := range h.versions {
		h.managers[v] = New(Config{APIVersion: v, Kind: h.kind, Type: types[v], Others: types, ResetFields: StatusResets()})
	}
}

func (h *history) makeType(body string) *Type {
	if strings.TrimSpace(body) != "" {
		data, err := yaml.YAMLToJSON([]byte(body))
		if err != nil {
			h.t.Fatal(err)
		}
		return mustType(h.t, string(data))
	}
	var of any
	switch h.kind {
	case "ConfigMap":
		of = corev1.ConfigMap{}
	case "Service":
		of = corev1.Service{}
	case "Deployment":
		of = appsv1.Deployment{}
	default:
		return Deduced()
	}
	typ, err := builtins.Type(of)
	if err != nil {
		h.t.Fatal(err)
	}
	return typ
}

var builtins Builtins

func (h *history) show() string {
	obj := bare(h.live)
	b, err := yaml.Marshal(obj)
	if err != nil {
		h.t.Fatal(err)
	}
	var out strings.Builder
	out.Write(b)
	for _, v := range listed(h.live) {
		e, err := readEntry(v)
		if err != nil {
			h.t.Fatal(err)
		}
		set, err := decodeSet(e.set)
		if err != nil {
			h.t.Fatal(err)
		}
		fmt.Fprintf(&out, "> %s %s %s", e.Manager, e.Operation, e.version)
		if e.Subresource != "" {
			fmt.Fprintf(&out, " /%s", e.Subresource)
		}
		fmt.Fprintf(&out, " %s:", strings.TrimPrefix(strings.TrimSuffix(e.time, "Z"), "2026-11-20T"))
		set.Iterate(func(p fieldpath.Path) { fmt.Fprintf(&out, " %v", p) })
		out.WriteByte('\n')
	}
	return out.String()
}
