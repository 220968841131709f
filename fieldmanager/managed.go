package fieldmanager

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// managed are the entries of an object as structured-merge-diff has them: sets
// by the text of an identity. It is the form of the general way.
type managed struct {
	fields fieldpath.ManagedFields
	times  map[string]string
}

func noManaged() managed {
	return managed{fields: fieldpath.ManagedFields{}, times: map[string]string{}}
}

func decodeManaged(list []any) (managed, error) {
	man := noManaged()
	for _, v := range list {
		e, err := readEntry(v)
		if err != nil {
			return managed{}, err
		}
		set, err := decodeSet(e.set)
		if err != nil {
			return managed{}, err
		}
		id := e.identity.String()
		man.fields[id] = fieldpath.NewVersionedSet(set, fieldpath.APIVersion(e.version), e.Operation == opApply)
		man.times[id] = canonicalTime(e.time)
	}
	return man, nil
}

func encodeEntries(man managed) ([]any, error) {
	if len(man.fields) == 0 {
		return nil, nil
	}
	list := make([]any, 0, len(man.fields))
	for id, vs := range man.fields {
		set, err := encodeSet(vs.Set())
		if err != nil {
			return nil, err
		}
		i := parseIdentity(id)
		if vs.Applied() {
			i.Operation = opApply
		}
		list = append(list, element(i, string(vs.APIVersion()), man.times[id], set))
	}
	sortEntries(list)
	return list, nil
}

// decodeSet makes a set of decoded fieldsV1. Elements of a kind that is not
// known are left out; a later version may know them.
func decodeSet(fields map[string]any) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	for _, key := range sortedKeys(fields) {
		if key == "." {
			continue
		}
		element, err := decodeElement(key)
		if err == fieldpath.ErrUnknownPathElementType {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %q: %w", errEntry, key, err)
		}
		sub, ok := fields[key].(map[string]any)
		if !ok && fields[key] != nil {
			return nil, fmt.Errorf("%w: %q is not an object", errEntry, key)
		}
		if isMember(sub) {
			set.Members.Insert(element)
		}
		if len(sub) == 0 {
			continue
		}
		children, err := decodeSet(sub)
		if err != nil {
			return nil, err
		}
		if !children.Empty() {
			*set.Children.Descend(element) = *children
		}
	}
	return set, nil
}

func decodeElement(key string) (fieldpath.PathElement, error) {
	if name, ok := strings.CutPrefix(key, "f:"); ok {
		return fieldpath.PathElement{FieldName: &name}, nil
	}
	return fieldpath.DeserializePathElement(key)
}

// encodeSet makes decoded fieldsV1 of a set.
func encodeSet(set *fieldpath.Set) (map[string]any, error) {
	out := map[string]any{}
	var err error
	set.Members.Iterate(func(e fieldpath.PathElement) {
		key, kerr := encodeElement(e)
		if kerr != nil {
			err = kerr
		}
		out[key] = map[string]any{}
	})
	set.Children.Iterate(func(e fieldpath.PathElement) {
		key, kerr := encodeElement(e)
		sub, _ := set.Children.Get(e)
		children, serr := encodeSet(sub)
		if kerr != nil || serr != nil {
			err = fmt.Errorf("%w: %q: %w", errEntry, key, firstError(kerr, serr))
			return
		}
		if len(children) == 0 {
			return
		}
		if _, member := out[key]; member {
			children["."] = map[string]any{}
		}
		out[key] = children
	})
	return out, err
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func encodeElement(e fieldpath.PathElement) (string, error) {
	if e.FieldName != nil {
		return "f:" + *e.FieldName, nil
	}
	return fieldpath.SerializePathElement(e)
}

// strip takes from an entry what nobody owns.
func (man managed) strip(id string) {
	vs, ok := man.fields[id]
	if !ok {
		return
	}
	set := vs.Set().Difference(strippedSet())
	if set.Empty() {
		delete(man.fields, id)
		return
	}
	man.fields[id] = fieldpath.NewVersionedSet(set, vs.APIVersion(), vs.Applied())
}

func strippedSet() *fieldpath.Set {
	set := fieldpath.NewSet(fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"), fieldpath.MakePathOrDie("metadata"))
	for _, name := range [...]string{"name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields", "resourceVersion"} {
		set.Insert(fieldpath.MakePathOrDie("metadata", name))
	}
	return set
}

// limit merges the oldest entries of operation Update, within their version,
// until there are no more than maxUpdateEntries (managedfields/internal
// capmanagers.go).
func (man managed) limit() {
	var updates []string
	for id, vs := range man.fields {
		if !vs.Applied() {
			updates = append(updates, id)
		}
	}
	if len(updates) <= maxUpdateEntries {
		return
	}
	slices.SortFunc(updates, func(a, b string) int {
		if c := strings.Compare(man.times[a], man.times[b]); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	first := map[fieldpath.APIVersion]string{}
	left := len(updates)
	for _, id := range updates {
		if left <= maxUpdateEntries {
			return
		}
		vs := man.fields[id]
		oldest, seen := first[vs.APIVersion()]
		if !seen {
			first[vs.APIVersion()] = id
			continue
		}
		man.bury(oldest, id)
		left--
	}
}

// bury moves an entry into the one for old changes of its version. oldest is
// the first of them, with which that one begins.
func (man managed) bury(oldest, id string) {
	vs := man.fields[id]
	ancient := identity{Manager: ancientChanges, Operation: opUpdate, APIVersion: string(vs.APIVersion())}.String()
	if _, ok := man.fields[ancient]; !ok {
		man.fields[ancient] = man.fields[oldest]
		delete(man.fields, oldest)
	}
	union := vs.Set().Union(man.fields[ancient].Set())
	at := man.times[id]
	delete(man.fields, id)
	man.fields[ancient] = fieldpath.NewVersionedSet(union, vs.APIVersion(), vs.Applied())
	man.times[ancient] = at // the later one
}
