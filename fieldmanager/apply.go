package fieldmanager

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/merge"
	"sigs.k8s.io/structured-merge-diff/v4/typed"
)

// A RefusedError tells why an applied configuration is not taken, in the words
// of the answer, which is 400.
type RefusedError struct{ Message string }

func (e *RefusedError) Error() string { return e.Message }

// A ConfigError tells that an applied configuration does not fit the schema:
// a field that it does not know, a value of another type, an item twice.
type ConfigError struct {
	Object string // namespace/name; apiVersion, Kind
	Err    error
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("failed to create typed patch object (%s): %v", e.Object, e.Err)
}

func (e *ConfigError) Unwrap() error { return e.Err }

// Apply merges an applied configuration into the live object, or into nothing
// if live is nil, and gives the merged object with its managed fields. It needs
// no Update any more; defaults are the caller's. With force what others own is
// taken from them; without it that is a *ConflictError. Other errors are
// *RefusedError, *ConfigError, and what is wrong with the live object.
//
// The resourceVersion and the uid of the configuration are not looked at.
func (m *Manager) Apply(live, applied map[string]any, by Actor, force bool) (merged map[string]any, err error) {
	if err := m.checkApplied(applied); err != nil {
		return nil, err
	}
	if merged, ok := m.quick(live, applied, by); ok {
		return merged, nil
	}
	return m.generalApply(live, applied, by, force)
}

// generalApply is Apply by structured-merge-diff, of a configuration of this
// kind and version.
func (m *Manager) generalApply(live, applied map[string]any, by Actor, force bool) (merged map[string]any, err error) {
	man, err := decodeManaged(listed(live))
	if err != nil {
		return nil, fmt.Errorf("failed to decode managed fields: %w", err)
	}
	if live == nil {
		live = m.zero()
	}
	bareLive := m.own(live)
	if len(man.fields) == 0 {
		first := identity{Manager: beforeFirstApply, Operation: opUpdate, APIVersion: m.cfg.APIVersion, Subresource: by.Subresource}
		if err := m.update(m.zero(), bareLive, man, first, by); err != nil {
			return nil, err
		}
		man.limit()
	}
	merged, changed, err := m.merge(bareLive, applied, man, by, force)
	if err != nil {
		return nil, err
	}
	return m.finish(merged, man, by, applied, changed)
}

// finish gives the merged object its entries. A merge that changes nothing
// sets no time.
func (m *Manager) finish(merged map[string]any, man managed, by Actor, applied map[string]any, changed bool) (map[string]any, error) {
	id := m.applier(by).String()
	man.strip(id)
	if changed {
		man.times[id] = stamp(by.Now)
	}
	merged = runtime.DeepCopyJSON(merged)
	if by.name() == kubectl {
		if err := refreshLastApplied(merged, applied); err != nil {
			return nil, err
		}
	}
	entries, err := encodeEntries(man)
	if err != nil {
		return nil, err
	}
	setManaged(merged, entries)
	return merged, nil
}

// checkApplied refuses what is no configuration of this kind and version.
func (m *Manager) checkApplied(applied map[string]any) error {
	version, kind := text(applied, "apiVersion"), text(applied, "kind")
	if kind != m.cfg.Kind || groupOf(version) != groupOf(m.cfg.APIVersion) {
		return &RefusedError{Message: fmt.Sprintf("invalid object type: %s, Kind=%s", slashed(version), kind)}
	}
	if version != m.cfg.APIVersion {
		return &RefusedError{Message: fmt.Sprintf("Incorrect version specified in apply patch. Specified patch version: %s, expected: %s", version, m.cfg.APIVersion)}
	}
	if child(applied, "metadata")["managedFields"] != nil {
		return &RefusedError{Message: "metadata.managedFields must be nil"}
	}
	return nil
}

func groupOf(apiVersion string) string {
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return group
}

// slashed is an apiVersion as group, slash and version, the group of the core
// being empty.
func slashed(apiVersion string) string {
	if strings.Contains(apiVersion, "/") {
		return apiVersion
	}
	return "/" + apiVersion
}

// merge applies a configuration to a live object without managed fields, and
// changes man as the apply does. The result may be the live object, unchanged,
// and may share with it and with the configuration.
func (m *Manager) merge(live, applied map[string]any, man managed, by Actor, force bool) (merged map[string]any, changed bool, err error) {
	config, err := m.cfg.Type.applied(applied)
	if err != nil {
		return nil, false, &ConfigError{Object: describe(applied), Err: err}
	}
	object, err := m.cfg.Type.live(live)
	if err != nil {
		return nil, false, fmt.Errorf("failed to create typed live object (%s): %w", describe(live), err)
	}
	out, fields, err := m.tryApply(object, config, man, by, force)
	var conflicts merge.Conflicts
	if errors.As(err, &conflicts) {
		if by.name() == kubectl && m.excused(object, live, &conflicts) {
			out, fields, err = m.tryApply(object, config, man, by, true)
		} else {
			return nil, false, newConflictError(conflicts, man.times)
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("apply to %s by %q: %w", describe(live), by.name(), err)
	}
	clear(man.fields)
	for id, vs := range fields {
		man.fields[id] = vs
	}
	if out == nil {
		return live, false, nil
	}
	merged, ok := out.AsValue().Unstructured().(map[string]any)
	if !ok {
		return nil, false, fmt.Errorf("apply to %s by %q: the result is no object", describe(live), by.name())
	}
	return merged, true, nil
}

// tryApply runs the merge on copies of the entries.
func (m *Manager) tryApply(live, config *typed.TypedValue, man managed, by Actor, force bool) (*typed.TypedValue, fieldpath.ManagedFields, error) {
	return m.merger(by.Subresource).Apply(live, config, fieldpath.APIVersion(m.cfg.APIVersion), man.fields.Copy(), m.applier(by).String(), force)
}
