package kinds

import (
	"fmt"
	"reflect"
	"strconv"
)

// conversion is how a kind is turned into the form it is stored in and back,
// for kinds that live in more than one group or version.
type conversion struct {
	typ      reflect.Type // of the stored form
	to, from func(obj map[string]any)
}

// Converts tells whether the stored form of an object differs from the served
// one by more than its apiVersion.
func (k *Kind) Converts() bool { return k.rules.convert != nil }

// ToStorage turns an object of the kind into the form it is stored in, which
// is of another version or group where StorageVersion or StorageGroup differ.
// obj is changed in place.
func (k *Kind) ToStorage(obj map[string]any) {
	obj["apiVersion"] = apiVersion(k.StorageGroup, k.StorageVersion)
	if c := k.rules.convert; c != nil {
		c.to(obj)
		normalize(k.stored.get(func() *plan { return makePlan(c.typ, map[reflect.Type]*plan{}) }), obj)
	}
}

// FromStorage undoes ToStorage.
func (k *Kind) FromStorage(obj map[string]any) {
	obj["apiVersion"] = k.APIVersion
	if c := k.rules.convert; c != nil {
		c.from(obj)
		normalize(k.goPlan(), obj)
	}
}

// normalize gives a converted object the fields that its type always has.
func normalize(p *plan, obj map[string]any) {
	f := fitter{}
	f.fit(p, obj)
}

// ServedJSON returns the JSON, with its resourceVersion, in which an object of
// the kind is served whose stored JSON is given. It is the stored one itself
// where nothing differs.
func (k *Kind) ServedJSON(stored []byte) ([]byte, error) {
	if !k.Converts() && k.Version == k.StorageVersion && k.Group == k.StorageGroup {
		return stored, nil
	}
	obj, _, err := DecodeJSON(stored)
	if err != nil {
		return nil, fmt.Errorf("convert a %s: %w", k.Kind, err)
	}
	version := textAt(obj, "metadata", resourceVersion)
	k.FromStorage(obj)
	data, at, err := Encode(obj)
	if err != nil || version == "" || at < 0 {
		return data, err
	}
	member := strconv.Quote(resourceVersion) + ":" + strconv.Quote(version) + ","
	out := make([]byte, 0, len(data)+len(member))
	out = append(append(out, data[:at]...), member...)
	return append(out, data[at:]...), nil
}

// renamed are the fields of events: in the core group, and in events.k8s.io.
var renamed = [...][2]string{{"involvedObject", "regarding"}, {"message", "note"}, {"source", "deprecatedSource"}, {"firstTimestamp", "deprecatedFirstTimestamp"},
	{"lastTimestamp", "deprecatedLastTimestamp"}, {"count", "deprecatedCount"}, {"reportingComponent", "reportingController"}}

func eventToCore(obj map[string]any) {
	for _, pair := range renamed {
		rename(obj, pair[1], pair[0])
	}
}

func eventFromCore(obj map[string]any) {
	for _, pair := range renamed {
		rename(obj, pair[0], pair[1])
	}
}

func rename(m map[string]any, from, to string) {
	if v, ok := m[from]; ok {
		delete(m, from)
		m[to] = v
	}
}
