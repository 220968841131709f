package kinds

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// goldenDir is the folder of k8s.io/api's golden files; the test is skipped
// where the module's source is not there.
func goldenDir(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	dir := filepath.Join(strings.TrimSpace(string(out)), "testdata", "HEAD")
	if _, statErr := os.Stat(dir); err != nil || statErr != nil {
		t.Skip("k8s.io/api's golden files are not here")
	}
	return dir
}

// goldenFile reads one golden file of a kind.
func goldenFile(t *testing.T, dir string, k *Kind, ext string) []byte {
	t.Helper()
	group := k.Group
	if group == "" {
		group = "core"
	}
	data, err := os.ReadFile(filepath.Join(dir, group+"."+k.Version+"."+k.Kind+"."+ext))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// withGolden calls fn for every served kind that has golden files.
func withGolden(t *testing.T, fn func(t *testing.T, dir string, k *Kind)) {
	dir := goldenDir(t)
	NewRegistry().Current().Kinds(func(k *Kind) bool {
		if k.Group != DefinitionGroup && k.Kind != "APIService" { // not of that module
			t.Run(k.APIVersion+" "+k.Kind, func(t *testing.T) { fn(t, dir, k) })
		}
		return true
	})
}

func TestGoldenFilesDecodeAlikeInEveryEncoding(t *testing.T) {
	withGolden(t, func(t *testing.T, dir string, k *Kind) {
		fromJSON, strict, err := DecodeJSON(goldenFile(t, dir, k, "json"))
		if err != nil || strict != nil {
			t.Fatal(strict, err)
		}
		want := deepCopy(fromJSON).(map[string]any)
		if strict, err := k.Conform(fromJSON); err != nil || strict != nil {
			t.Fatal(strict, err)
		}
		if !reflect.DeepEqual(fromJSON, want) {
			t.Errorf("Conform changed it\n got %s\nwant %s", fragment(fromJSON), fragment(want))
		}
		fromYAML, strict, err := DecodeYAML(goldenFile(t, dir, k, "yaml"))
		if err != nil || strict != nil || !reflect.DeepEqual(fromYAML, want) {
			t.Errorf("yaml %v %v\n got %s\nwant %s", strict, err, fragment(fromYAML), fragment(want))
		}
		pb := goldenFile(t, dir, k, "pb")
		fromPB, err := k.FromProtobuf(pb)
		if err != nil || !reflect.DeepEqual(fromPB, want) {
			t.Errorf("protobuf %v\n got %s\nwant %s", err, fragment(fromPB), fragment(want))
		}
		again, err := k.ToProtobuf(fragment(want))
		if err != nil || !bytes.Equal(again, pb) {
			t.Errorf("protobuf encodes to %d bytes, the file has %d (%v)", len(again), len(pb), err)
		}
	})
}

func TestGoldenFilesSurviveStorage(t *testing.T) {
	withGolden(t, func(t *testing.T, dir string, k *Kind) {
		obj, _, err := DecodeJSON(goldenFile(t, dir, k, "json"))
		if err != nil {
			t.Fatal(err)
		}
		want := deepCopy(obj).(map[string]any)
		delete(child(want, "metadata"), "resourceVersion")
		k.ToStorage(obj)
		if text(obj, "apiVersion") != apiVersion(k.StorageGroup, k.StorageVersion) {
			t.Error(text(obj, "apiVersion"))
		}
		data, _, err := Encode(obj)
		if err != nil {
			t.Fatal(err)
		}
		served, err := k.ServedJSON(data)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := DecodeJSON(served)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v\n got %s\nwant %s", err, served, fragment(want))
		}
	})
}

func TestProtobufLists(t *testing.T) {
	k := kind(t, NewRegistry(), "", "v1", "configmaps")
	var items [][]byte
	for _, name := range []string{"a", "b"} {
		item, err := k.ProtobufMessage([]byte(`{"metadata":{"name":"` + name + `"},"data":{"k":"v"}}`))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	body, err := k.ProtobufList(metav1.ListMeta{ResourceVersion: "7"}, items)
	if err != nil {
		t.Fatal(err)
	}
	envelope, err := openEnvelope(body)
	if err != nil || envelope.Kind != "ConfigMapList" || envelope.APIVersion != "v1" {
		t.Fatal(envelope, err)
	}
	var list corev1.ConfigMapList
	if err := list.Unmarshal(envelope.Raw); err != nil {
		t.Fatal(err)
	}
	if list.ResourceVersion != "7" || len(list.Items) != 2 || list.Items[1].Name != "b" || list.Items[0].Data["k"] != "v" {
		t.Errorf("%+v", list)
	}
}

func TestProtobufRefusals(t *testing.T) {
	r := NewRegistry()
	k := kind(t, r, "", "v1", "configmaps")
	for _, body := range []string{"", "{}", "k8s\x00\xff", "k8s\x00\x12\x02\xff\xff"} {
		if _, err := k.FromProtobuf([]byte(body)); err == nil {
			t.Errorf("%q is a ConfigMap", body)
		}
	}
	define(t, r, definitionJSON("widgets", "example.com", "Widget"))
	raw, _ := (&metav1.DeleteOptions{DryRun: []string{"All"}}).Marshal()
	options, _ := ProtobufEnvelope("v1", "DeleteOptions", raw)
	obj, err := kind(t, r, "example.com", "v1", "widgets").FromProtobuf(options)
	if err != nil || string(fragment(obj)) != `{"apiVersion":"v1","dryRun":["All"],"kind":"DeleteOptions"}` {
		t.Errorf("%s %v", fragment(obj), err)
	}
	for _, k := range []*Kind{kind(t, r, "example.com", "v1", "widgets"), kind(t, r, "apiregistration.k8s.io", "v1", "apiservices")} {
		if _, err := k.ToProtobuf([]byte(`{}`)); !errors.Is(err, ErrNoProtobuf) || k.HasProtobuf() {
			t.Errorf("%s: %v", k.Kind, err)
		}
	}
}
