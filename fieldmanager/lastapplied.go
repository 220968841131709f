package fieldmanager

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/validation"
	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/merge"
	"sigs.k8s.io/structured-merge-diff/v4/typed"
)

// kubectl is the field manager for which ownership passes between client-side
// and server-side apply; other managers opt out by being others.
const kubectl = "kubectl"

// LastApplied is the annotation in which a client-side apply keeps what it
// applied last.
const LastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// excused tells whether all conflicts are over fields that a client-side apply
// set, by the annotation, and that still have that value: they were kubectl's
// all along. If not, those that are not excused are left in conflicts.
func (m *Manager) excused(object *typed.TypedValue, live map[string]any, conflicts *merge.Conflicts) bool {
	own, err := m.clientSide(object, live)
	if err != nil {
		return false
	}
	var left merge.Conflicts
	for _, c := range *conflicts {
		if !own.Has(c.Path) {
			left = append(left, c)
		}
	}
	if len(left) > 0 {
		*conflicts = left
		return false
	}
	return true
}

var errNotApplied = errors.New("no last applied configuration")

// clientSide is the set of the fields that the last client-side apply set and
// that nobody changed since.
func (m *Manager) clientSide(object *typed.TypedValue, live map[string]any) (*fieldpath.Set, error) {
	last := text(child(child(live, "metadata"), "annotations"), LastApplied)
	if last == "" {
		return nil, errNotApplied
	}
	var config map[string]any
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts([]byte(last), &config); err != nil {
		return nil, fmt.Errorf("decode the last applied configuration: %w", err)
	}
	if v := text(config, "apiVersion"); v != m.cfg.APIVersion {
		return nil, fmt.Errorf("%w of version %s", errNotApplied, m.cfg.APIVersion)
	}
	applied, err := m.cfg.Type.applied(config)
	if err != nil {
		return nil, err
	}
	set, err := applied.ToFieldSet()
	if err != nil {
		return nil, err
	}
	c, err := applied.Compare(object)
	if err != nil {
		return nil, err
	}
	return set.Difference(c.Modified).Difference(c.Added).Difference(c.Removed), nil
}

// refreshLastApplied keeps the annotation of an object that has one true to
// what kubectl applied, so that a client-side apply can go on from there. An
// annotation that would be too long is taken away.
func refreshLastApplied(obj, applied map[string]any) error {
	annotations := child(child(obj, "metadata"), "annotations")
	if text(annotations, LastApplied) == "" {
		return nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b) // ends the text with a new line, as kubectl does
	if err := e.Encode(withoutLastApplied(applied)); err != nil {
		return fmt.Errorf("encode the last applied configuration: %w", err)
	}
	annotations[LastApplied] = b.String()
	sizes := make(map[string]string, len(annotations))
	for name := range annotations {
		sizes[name] = text(annotations, name)
	}
	if validation.ValidateAnnotationsSize(sizes) != nil {
		delete(annotations, LastApplied)
	}
	return nil
}

// withoutLastApplied is a configuration without the annotation itself.
func withoutLastApplied(applied map[string]any) map[string]any {
	meta := child(applied, "metadata")
	annotations := child(meta, "annotations")
	if _, ok := annotations[LastApplied]; !ok {
		return applied
	}
	annotations = copyMap(annotations)
	delete(annotations, LastApplied)
	meta = copyMap(meta)
	if meta["annotations"] = annotations; len(annotations) == 0 {
		delete(meta, "annotations")
	}
	applied = copyMap(applied)
	applied["metadata"] = meta
	return applied
}
