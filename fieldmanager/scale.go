package fieldmanager

import (
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// ScaleVersion is the apiVersion of the scale subresource's objects.
const ScaleVersion = "autoscaling/v1"

// Scale carries the ownership of the number of replicas between an object and
// its scale subresource.
type Scale struct {
	// APIVersion is the version of the object that is written.
	APIVersion string
	// Replicas is, by version of the kind, where the number is; nil in one
	// without the subresource. Entries of other versions are dropped.
	Replicas map[string]fieldpath.Path
}

func scaleReplicas() fieldpath.Path { return fieldpath.MakePathOrDie("spec", "replicas") }

// ToScale gives the managed fields that the scale object of an object has:
// those that own the number of replicas.
func (s Scale) ToScale(parent []any) ([]any, error) {
	man, err := decodeManaged(parent)
	if err != nil {
		return nil, fmt.Errorf("scale: %w", err)
	}
	out := noManaged()
	for id, vs := range man.fields {
		path := s.Replicas[string(vs.APIVersion())]
		if path == nil || !vs.Set().Has(path) {
			continue
		}
		out.fields[id] = fieldpath.NewVersionedSet(fieldpath.NewSet(scaleReplicas()), ScaleVersion, vs.Applied())
		out.times[id] = man.times[id]
	}
	return encodeEntries(out)
}

// ToParent gives the managed fields of an object whose scale object was
// written: parent are those before it, scale those of the scale object after.
func (s Scale) ToParent(parent, scale []any) ([]any, error) {
	man, err := decodeManaged(parent)
	if err != nil {
		return nil, fmt.Errorf("scale: %w", err)
	}
	scaled, err := decodeManaged(scale)
	if err != nil {
		return nil, fmt.Errorf("scale: %w", err)
	}
	out := noManaged()
	for id, vs := range man.fields {
		path, known := s.Replicas[string(vs.APIVersion())]
		if !known {
			continue
		}
		set, at := vs.Set(), man.times[id]
		if path != nil && set.Has(path) {
			if _, still := scaled.fields[id]; still {
				at = scaled.times[id]
				delete(scaled.fields, id)
			} else { // somebody else set it through the scale
				set = set.Difference(fieldpath.NewSet(path))
			}
		}
		if set.Empty() {
			continue
		}
		out.fields[id] = fieldpath.NewVersionedSet(set, vs.APIVersion(), vs.Applied())
		out.times[id] = at
	}
	for id, vs := range scaled.fields {
		if !vs.Set().Has(scaleReplicas()) {
			continue
		}
		path := s.Replicas[s.APIVersion]
		if path == nil {
			return nil, fmt.Errorf("scale: version %s has no replicas", s.APIVersion)
		}
		set := fieldpath.NewSet(path)
		if old, ok := out.fields[id]; ok {
			set = set.Union(old.Set())
		}
		out.fields[id] = fieldpath.NewVersionedSet(set, fieldpath.APIVersion(s.APIVersion), vs.Applied())
		out.times[id] = scaled.times[id]
	}
	return encodeEntries(out)
}
