package kinds

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestWrongTypesAreToldAsKubernetesDoes(t *testing.T) {
	r := NewRegistry()
	define(t, r, definitionJSON("widgets", "example.com", "Widget"))
	for _, c := range []struct{ group, resource, obj, want string }{
		{"", "configmaps", `{"metadata":{"name":"a"},"data":{"a":1}}`, `ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string`},
		{"", "configmaps", `{"metadata":{"name":"a"},"data":["x"]}`, `json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string`},
		{"", "configmaps", `{"metadata":{"name":"a"},"immutable":"yes"}`, `json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool`},
		{"", "configmaps", `{"metadata":{"name":"a"},"binaryData":{"a":"*"}}`, `illegal base64 data at input byte 0`},
		{"", "configmaps", `{"metadata":"a"}`, `json: cannot unmarshal string into Go struct field ConfigMap.metadata of type v1.ObjectMeta`},
		{"", "namespaces", `{"metadata":{"name":"a","labels":{"a":true}}}`, `json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels of type string`},
		{"", "namespaces", `{"metadata":{"name":"a","deletionTimestamp":"now"}}`, `parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006"`},
		{"coordination.k8s.io", "leases", `{"metadata":{"name":"a"},"spec":{"leaseDurationSeconds":5000000000}}`, `Lease in version "v1" cannot be handled as a Lease: json: cannot unmarshal number 5000000000 into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32`},
		{DefinitionGroup, DefinitionResource, `{"metadata":{"name":"a"},"spec":{"versions":{}}}`, `json: cannot unmarshal object into Go struct field CustomResourceDefinitionSpec.spec.versions of type []v1.CustomResourceDefinitionVersion`},
		{"example.com", "widgets", `{"metadata":{"name":"a","labels":{"a":1}},"spec":{}}`, `Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string`},
		{"example.com", "widgets", `{"metadata":{"name":"a","finalizers":"x"}}`, `json: cannot unmarshal string into Go struct field ObjectMeta.finalizers of type []string`},
		{"example.com", "widgets", `{"metadata":[]}`, `json: cannot unmarshal array into Go value of type v1.ObjectMeta`},
	} {
		err := kind(t, r, c.group, "v1", c.resource).CheckTypes(object(t, c.obj))
		var te *TypeError
		if !errors.As(err, &te) || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s\n got %v\nwant %s", c.obj, err, c.want)
		}
	}
}

func TestConformMakesWhatTheGoTypeWould(t *testing.T) {
	r := NewRegistry()
	define(t, r, definitionJSON("widgets", "example.com", "Widget"))
	for _, c := range []struct{ group, resource, obj, want, strict string }{
		{"", "configmaps", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","labels":{},"annotations":null,"foo":1},"data":{},"extra":{"a":1},"immutable":false,"binaryData":{"a":"aGk="}}`,
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"binaryData":{"a":"aGk="},"immutable":false}`, `[unknown field "extra" unknown field "metadata.foo"]`},
		{"", "configmaps", `{"metadata":{"name":"a"},"data":{"a":null,"b":"x"}}`, `{"metadata":{"name":"a"},"data":{"a":"","b":"x"}}`, `[]`},
		{"", "namespaces", `{"metadata":{"name":"a"},"spec":{"finalizers":[]}}`, `{"metadata":{"name":"a"},"spec":{},"status":{}}`, `[]`},
		{"coordination.k8s.io", "leases", `{"metadata":{"name":"a","creationTimestamp":"2026-11-20T12:00:00+02:00","ownerReferences":[{"kind":"A","name":"n","x":1}]},"spec":{"renewTime":"2026-11-20T10:00:00.123456Z","acquireTime":"2026-11-20T12:00:00.500000+02:00","leaseTransitions":0,"foo":{}}}`,
			`{"metadata":{"creationTimestamp":"2026-11-20T10:00:00Z","name":"a","ownerReferences":[{"apiVersion":"","kind":"A","name":"n","uid":""}]},"spec":{"acquireTime":"2026-11-20T10:00:00.500000Z","leaseTransitions":0,"renewTime":"2026-11-20T10:00:00.123456Z"}}`,
			`[unknown field "metadata.ownerReferences[0].x" unknown field "spec.foo"]`},
		{"example.com", "widgets", `{"metadata":{"name":"a","generation":0,"x":1,"managedFields":[{"manager":"m","fieldsV1":{"f:a":{}}}],"creationTimestamp":null},"spec":{"x":null},"more":1}`,
			`{"metadata":{"managedFields":[{"fieldsV1":{"f:a":{}},"manager":"m"}],"name":"a"},"spec":{}}`, `[unknown field "metadata.x" unknown field "more" unknown field "spec.x"]`},
		{"example.com", "widgets", `{"metadata":null,"spec":{}}`, `{"metadata":{},"spec":{}}`, `[]`},
	} {
		obj := object(t, c.obj)
		strict, err := kind(t, r, c.group, "v1", c.resource).Conform(obj)
		if err != nil {
			t.Errorf("%s: %v", c.obj, err)
			continue
		}
		got, _, err := Encode(obj)
		if err != nil {
			t.Fatal(err)
		}
		same(t, c.obj, string(got), c.want)
		same(t, c.obj, fmt.Sprint(strict), c.strict)
	}
}

// A walk along the plan must give what decoding into the Go type and encoding
// again gives.
func TestConformAgreesWithTheGoType(t *testing.T) {
	r := NewRegistry()
	for resource, objs := range map[string][]string{
		"configmaps/":                {`{"metadata":{"name":"a","generation":5,"selfLink":"","uid":"u"},"data":{"x":""},"binaryData":{"b":""}}`, `{}`, `{"metadata":{}}`},
		"namespaces/":                {`{"metadata":{"name":"a"},"status":{"phase":"","conditions":[{"type":"A","lastTransitionTime":"2026-11-20T10:00:00Z"},{"type":"B","status":"True"}]}}`},
		"leases/coordination.k8s.io": {`{"metadata":{"name":"a"},"spec":{"holderIdentity":"","renewTime":"2026-11-20T10:00:00.000000Z"}}`},
		"customresourcedefinitions/apiextensions.k8s.io": {
			definitionJSON("widgets", "example.com", "Widget"),
			`{"metadata":{"name":"a"},"spec":{"conversion":{"strategy":"Webhook","webhook":{"clientConfig":{"caBundle":"aGk=","service":{"name":"a","namespace":"b","x":1}},"conversionReviewVersions":[]}},"preserveUnknownFields":false,
			 "versions":[{"name":"v1","schema":{"openAPIV3Schema":{"type":"object","additionalProperties":true,"default":{"a":[1,null]},"properties":{"a":{"items":{"type":"string","enum":["a",1]}},"b":{"additionalProperties":{"type":"number","maximum":1.5,"minimum":0}}}}}}]}}`,
		},
	} {
		name, group, _ := strings.Cut(resource, "/")
		k := kind(t, r, group, "v1", name)
		for _, s := range objs {
			want, err := roundTrip(k.rules.typ, object(t, s))
			if err != nil {
				t.Fatal(err)
			}
			got := object(t, s)
			if _, err := k.Conform(got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(any(got), want) {
				t.Errorf("%s\n got %s\nwant %s", s, fragment(got), fragment(want))
			}
		}
	}
}

func TestCheckMeta(t *testing.T) {
	if err := CheckMeta(object(t, `{"apiVersion":"g/v2","kind":"X","metadata":{"name":1}}`)); err == nil ||
		err.Error() != `X in version "v2" cannot be handled as a X: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string` {
		t.Error(err)
	}
	if err := CheckMeta(object(t, `{"apiVersion":"v1","kind":"X"}`)); err != nil {
		t.Error(err)
	}
}

func BenchmarkConform(b *testing.B) {
	r := NewRegistry()
	define(b, r, definitionJSON("widgets", "example.com", "Widget"))
	for name, k := range map[string]*Kind{"custom": kind(b, r, "example.com", "v1", "widgets"), "builtin": kind(b, r, "", "v1", "configmaps")} {
		b.Run(name, func(b *testing.B) {
			obj := object(b, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b","labels":{"a":"b","c":"d"},"creationTimestamp":"2026-11-20T10:00:00Z"},"data":{"a":"1","b":"2","c":"3"}}`)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := k.Conform(obj); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
