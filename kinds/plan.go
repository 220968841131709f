package kinds

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// plan is a Go type as the JSON of it is seen.
type plan struct {
	shape  shape
	typ    reflect.Type
	bits   int
	layout string // of times
	elem   *plan
	fields map[string]*fieldPlan
	always []*fieldPlan // the fields that are never omitted
}

type fieldPlan struct {
	name    string
	plan    *plan
	pointer bool
	omit    bool // when empty
}

type shape uint8

const (
	shapeAny shape = iota
	shapeString
	shapeBool
	shapeInt
	shapeFloat
	shapeBytes
	shapeStruct
	shapeMap
	shapeSlice
	shapeTime
	shapeOther // has JSON methods of its own
)

// makePlan makes the plan of a type; made are those under way, for types that
// contain themselves.
func makePlan(t reflect.Type, made map[reflect.Type]*plan) *plan {
	if p, ok := made[t]; ok {
		return p
	}
	p := &plan{typ: t}
	made[t] = p
	switch t {
	case reflect.TypeFor[metav1.Time]():
		p.shape, p.layout = shapeTime, time.RFC3339
		return p
	case reflect.TypeFor[metav1.MicroTime]():
		p.shape, p.layout = shapeTime, metav1.RFC3339Micro
		return p
	case reflect.TypeFor[metav1.FieldsV1](), reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[apiextensionsv1.JSON]():
		return p
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		p.shape = shapeOther
		return p
	}
	switch t.Kind() {
	case reflect.String:
		p.shape = shapeString
	case reflect.Bool:
		p.shape = shapeBool
	case reflect.Int, reflect.Int32, reflect.Int64:
		p.shape, p.bits = shapeInt, t.Bits()
	case reflect.Float64:
		p.shape = shapeFloat
	case reflect.Map:
		p.shape, p.elem = shapeMap, makePlan(t.Elem(), made)
	case reflect.Pointer:
		delete(made, t)
		return makePlan(t.Elem(), made)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			p.shape = shapeBytes
			break
		}
		p.shape, p.elem = shapeSlice, makePlan(t.Elem(), made)
	case reflect.Struct:
		p.shape, p.fields = shapeStruct, map[string]*fieldPlan{}
		p.addFields(t, made)
	case reflect.Interface:
	default:
		p.shape = shapeOther
	}
	return p
}

func (p *plan) addFields(t reflect.Type, made map[reflect.Type]*plan) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || !field.IsExported() {
			continue
		}
		if field.Anonymous && name == "" {
			p.addFields(field.Type, made)
			continue
		}
		if name == "" {
			name = field.Name
		}
		f := &fieldPlan{
			name: name, plan: makePlan(field.Type, made), pointer: field.Type.Kind() == reflect.Pointer,
			omit: strings.Contains(options, "omit"),
		}
		if field.Type.Kind() == reflect.Struct { // omitempty does nothing to a struct
			f.omit = strings.Contains(options, "omitzero")
		}
		p.fields[name] = f
		if !f.omit {
			p.always = append(p.always, f)
		}
	}
}

// fit returns v as the plan's type would be marshalled. ok is false if v is
// of another type, or too unusual to tell.
func (f *fitter) fit(p *plan, v any) (out any, ok bool) {
	switch p.shape {
	case shapeAny:
		return v, true
	case shapeString:
		_, ok = v.(string)
		return v, ok
	case shapeBool:
		_, ok = v.(bool)
		return v, ok
	case shapeInt:
		n, ok := v.(int64)
		return v, ok && n == n<<(64-p.bits)>>(64-p.bits)
	case shapeFloat:
		switch v.(type) {
		case float64, int64:
			return v, true
		}
		return v, false
	case shapeBytes:
		s, ok := v.(string)
		return v, ok && canonicalBase64(s)
	case shapeTime:
		return p.fitTime(v)
	case shapeStruct:
		m, ok := v.(map[string]any)
		return v, ok && f.fitStruct(p, m)
	case shapeMap:
		m, ok := v.(map[string]any)
		return v, ok && f.fitMap(p, m)
	case shapeSlice:
		list, ok := v.([]any)
		return v, ok && f.fitSlice(p, list)
	}
	out, err := roundTrip(p.typ, v)
	return out, err == nil
}

// canonicalBase64 tells whether decoding and encoding s gives s.
func canonicalBase64(s string) bool {
	if strings.ContainsAny(s, "\r\n") {
		return false
	}
	_, err := base64.StdEncoding.Strict().DecodeString(s)
	return err == nil
}

func (p *plan) fitTime(v any) (any, bool) {
	s, ok := v.(string)
	if !ok {
		return v, false
	}
	if t, err := time.Parse(p.layout, s); err == nil && !t.IsZero() && t.UTC().Format(p.layout) == s {
		return v, true
	}
	out, err := roundTrip(p.typ, v)
	return out, err == nil
}

func (f *fitter) fitStruct(p *plan, m map[string]any) bool {
	for name, v := range m {
		field := p.fields[name]
		if field == nil {
			f.note(name)
			delete(m, name)
			continue
		}
		if v == nil {
			delete(m, name)
			continue
		}
		f.path = append(f.path, name)
		out, ok := f.fit(field.plan, v)
		f.path = f.path[:len(f.path)-1]
		if !ok {
			return false
		}
		if field.omit && (out == nil || !field.pointer && empty(out)) { // nil: a zero time
			delete(m, name)
			continue
		}
		switch field.plan.shape { // only these can have become another value
		case shapeTime, shapeOther:
			m[name] = out
		}
	}
	for _, field := range p.always {
		if _, ok := m[field.name]; !ok {
			m[field.name] = field.plan.zero(field.pointer)
		}
	}
	return true
}

func (f *fitter) fitMap(p *plan, m map[string]any) bool {
	for key, v := range m {
		if v == nil && p.elem.shape != shapeAny {
			return false
		}
		if p.elem.shape == shapeString { // labels, data: by far the most
			if _, ok := v.(string); !ok {
				return false
			}
			continue
		}
		f.path = append(f.path, key)
		out, ok := f.fit(p.elem, v)
		f.path = f.path[:len(f.path)-1]
		if !ok {
			return false
		}
		if p.elem.shape == shapeTime || p.elem.shape == shapeOther {
			m[key] = out
		}
	}
	return true
}

func (f *fitter) fitSlice(p *plan, list []any) bool {
	for i, v := range list {
		if v == nil && p.elem.shape != shapeAny {
			return false
		}
		f.path = append(f.path, "")
		if p.elem.shape == shapeStruct {
			f.path[len(f.path)-1] = "[" + strconv.Itoa(i) + "]"
		}
		out, ok := f.fit(p.elem, v)
		f.path = f.path[:len(f.path)-1]
		if !ok {
			return false
		}
		list[i] = out
	}
	return true
}

// empty tells what omitempty omits.
func empty(v any) bool {
	switch v := v.(type) {
	case string:
		return v == ""
	case bool:
		return !v
	case int64:
		return v == 0
	case float64:
		return v == 0
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// zero is how the zero value of the type is marshalled.
func (p *plan) zero(pointer bool) any {
	if pointer {
		return nil
	}
	switch p.shape {
	case shapeString:
		return ""
	case shapeBool:
		return false
	case shapeInt, shapeFloat:
		return int64(0)
	case shapeStruct:
		m := map[string]any{}
		for _, field := range p.always {
			m[field.name] = field.plan.zero(field.pointer)
		}
		return m
	}
	return nil
}
