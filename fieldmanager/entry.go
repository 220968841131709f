package fieldmanager

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	opApply  = "Apply"
	opUpdate = "Update"
	fieldsV1 = "FieldsV1"

	// maxUpdateEntries is how many entries of operation Update are kept
	// (managedfields/internal DefaultMaxUpdateManagers).
	maxUpdateEntries = 10
	ancientChanges   = "ancient-changes"
	beforeFirstApply = "before-first-apply"
)

// identity is what makes two entries one: manager, operation, subresource, and
// for updates the version. Its text orders conflicts and old updates.
type identity struct {
	Manager     string `json:"manager,omitempty"`
	Operation   string `json:"operation,omitempty"`
	APIVersion  string `json:"apiVersion,omitempty"` // of updates
	Subresource string `json:"subresource,omitempty"`
}

func (i identity) String() string {
	b, _ := json.Marshal(i) // strings only
	return string(b)
}

func parseIdentity(s string) identity {
	var i identity
	_ = json.Unmarshal([]byte(s), &i) // made by String
	return i
}

// entry is one element of metadata.managedFields.
type entry struct {
	identity
	version string // the apiVersion, also of an apply
	time    string // RFC 3339, or ""
	set     map[string]any
	source  map[string]any // the element itself
}

var errEntry = errors.New("managed fields entry")

// readEntry reads an element of decoded managedFields. An error says why it is
// none (managedfields/internal DecodeManagedFields).
func readEntry(v any) (entry, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return entry{}, fmt.Errorf("%w: not an object", errEntry)
	}
	e := entry{version: text(m, "apiVersion"), time: text(m, "time"), source: m}
	e.identity = identity{Manager: text(m, "manager"), Operation: text(m, "operation"), Subresource: text(m, "subresource")}
	switch e.Operation {
	case opUpdate:
		e.APIVersion = e.version
	case opApply:
	default:
		return entry{}, fmt.Errorf("%w: operation must be `Apply` or `Update`", errEntry)
	}
	if e.version == "" {
		return entry{}, fmt.Errorf("%w: apiVersion must not be empty", errEntry)
	}
	if t := text(m, "fieldsType"); t != fieldsV1 {
		return entry{}, fmt.Errorf("%w: invalid fieldsType %q", errEntry, t)
	}
	var err error
	e.set, err = decodedFields(m["fieldsV1"])
	return e, err
}

// decodedFields takes a set in either form: decoded, or as this package writes
// the set of a creation.
func decodedFields(v any) (map[string]any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return v, nil
	case json.RawMessage:
		var m map[string]any
		if err := json.Unmarshal(v, &m); err != nil {
			return nil, fmt.Errorf("%w: %w", errEntry, err)
		}
		return m, nil
	}
	return nil, fmt.Errorf("%w: fieldsV1 is not an object", errEntry)
}

// element makes an element of managedFields; fields is a set in either form.
func element(id identity, version any, at string, fields any) map[string]any {
	out := make(map[string]any, 8)
	out["manager"], out["operation"] = id.Manager, boxedOperation(id.Operation)
	out["apiVersion"], out["fieldsType"], out["fieldsV1"] = version, fieldsV1, fields
	if at != "" {
		out["time"] = at
	}
	if id.Subresource != "" {
		out["subresource"] = id.Subresource
	}
	return out
}

// boxedOperation saves an allocation.
func boxedOperation(op string) any {
	if op == opApply {
		return opApply
	}
	return opUpdate
}

// stamp is a time as entries have it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// sortEntries puts elements in the order in which they are served.
func sortEntries(list []any) {
	slices.SortFunc(list, func(a, b any) int {
		m, _ := a.(map[string]any)
		n, _ := b.(map[string]any)
		for _, name := range [...]string{"operation", "time", "manager", "apiVersion", "subresource"} {
			if c := strings.Compare(text(m, name), text(n, name)); c != 0 {
				return c
			}
		}
		return 0
	})
}

// canonicalTime reads a time the way its type would, or gives "".
func canonicalTime(s string) string {
	if s == "" {
		return ""
	}
	var t metav1.Time
	if err := t.UnmarshalJSON([]byte(`"` + s + `"`)); err != nil || t.IsZero() {
		return ""
	}
	return stamp(t.Time)
}

// isReset tells whether managedFields ask to be cleared: one empty entry. An
// empty list does not, so that clients who do not know the field leave it be.
func isReset(v any) bool {
	list, ok := v.([]any)
	if !ok || len(list) != 1 {
		return false
	}
	m, ok := list[0].(map[string]any)
	if !ok {
		return list[0] == nil
	}
	for _, v := range m {
		if s, ok := v.(string); v != nil && (!ok || s != "") {
			return false
		}
	}
	return true
}

// listed returns managedFields of an object, or nil.
func listed(obj map[string]any) []any {
	list, _ := child(obj, "metadata")["managedFields"].([]any)
	return list
}

// sameFields compares sets in either form.
func sameFields(a, b any) bool {
	x, xok := a.(json.RawMessage)
	y, yok := b.(json.RawMessage)
	if xok && yok {
		return bytes.Equal(x, y)
	}
	m, errM := decodedFields(a)
	n, errN := decodedFields(b)
	return errM == nil && errN == nil && sameMaps(m, n)
}

// sameEntries compares lists of entries, times apart.
func sameEntries(a, b []any, times bool) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		m, mok := a[i].(map[string]any)
		n, nok := b[i].(map[string]any)
		if !mok || !nok || !sameFields(m["fieldsV1"], n["fieldsV1"]) {
			return false
		}
		for _, name := range [...]string{"operation", "manager", "apiVersion", "subresource", "fieldsType"} {
			if text(m, name) != text(n, name) {
				return false
			}
		}
		if times && text(m, "time") != text(n, "time") {
			return false
		}
	}
	return true
}
