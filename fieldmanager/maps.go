package fieldmanager

import (
	"maps"
	"slices"
)

// child returns the object m[name], or nil.
func child(m map[string]any, name string) map[string]any {
	c, _ := m[name].(map[string]any)
	return c
}

func text(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

// copyMap is a shallow copy that is never nil.
func copyMap(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return maps.Clone(m)
}

func sortedKeys(m map[string]any) []string {
	return slices.Sorted(maps.Keys(m))
}

// bare is obj without its managed fields: they do not own themselves. obj is
// not changed.
func bare(obj map[string]any) map[string]any {
	meta := child(obj, "metadata")
	if _, ok := meta["managedFields"]; !ok {
		return obj
	}
	meta = copyMap(meta)
	delete(meta, "managedFields")
	obj = copyMap(obj)
	obj["metadata"] = meta
	return obj
}

// setManaged puts entries into obj, or takes what is there away.
func setManaged(obj map[string]any, entries []any) {
	meta := child(obj, "metadata")
	if len(entries) == 0 {
		delete(meta, "managedFields")
		return
	}
	if meta == nil {
		meta = map[string]any{}
		obj["metadata"] = meta
	}
	meta["managedFields"] = entries
}
