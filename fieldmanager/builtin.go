package fieldmanager

import (
	"encoding/json"
	"fmt"
	"sync"

	"go.yaml.in/yaml/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/applyconfigurations"
	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/structured-merge-diff/v4/typed"
)

// Builtins gives the types of the built-in kinds. What they are made of, the
// schema in client-go, takes about a fifth of a second to read: it is read at
// the first use. The zero value is ready.
type Builtins struct {
	once   sync.Once
	parser *typed.Parser
	err    error
}

// Type returns the type of a Go type of k8s.io/api, given as any value of it.
// Its objects start out as the zero value is encoded. Kinds that client-go has
// no schema of are Deduced, but for definitions.
func (b *Builtins) Type(of any) (*Type, error) {
	zero, err := zeroObject(of)
	if err != nil {
		return nil, err
	}
	t, err := b.merging(of)
	if err != nil {
		return nil, err
	}
	t.zero = zero
	return t, nil
}

// merging is how values of a Go type merge.
func (b *Builtins) merging(of any) (*Type, error) {
	named, ok := of.(interface{ OpenAPIModelName() string })
	if !ok {
		return Deduced(), nil
	}
	if named.OpenAPIModelName() == definitionName {
		return FromOpenAPI([]byte(definitionSchema))
	}
	b.once.Do(func() { b.parser, b.err = readBuiltins() })
	if b.err != nil {
		return nil, b.err
	}
	p := b.parser.Type(named.OpenAPIModelName())
	if !p.IsValid() {
		return Deduced(), nil
	}
	return &Type{open: p, strict: p}, nil
}

const definitionName = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"

// definitionSchema is the topology of CustomResourceDefinition, which
// client-go does not have. Versions are owned as a whole.
const definitionSchema = `{"properties":{
"spec":{"type":"object","properties":{
 "group":{"type":"string"},"scope":{"type":"string"},"preserveUnknownFields":{"type":"boolean"},
 "names":` + definitionNames + `,
 "versions":{"type":"array","items":{"x-kubernetes-preserve-unknown-fields":true}},
 "conversion":{"type":"object","properties":{"strategy":{"type":"string"},"webhook":{"type":"object","properties":{
  "conversionReviewVersions":{"type":"array","items":{"type":"string"}},
  "clientConfig":{"type":"object","properties":{"url":{"type":"string"},"caBundle":{"type":"string"},"service":{"type":"object","properties":{
   "name":{"type":"string"},"namespace":{"type":"string"},"path":{"type":"string"},"port":{"type":"integer"}}}}}}}}}}},
"status":{"type":"object","properties":{
 "acceptedNames":` + definitionNames + `,"observedGeneration":{"type":"integer"},
 "storedVersions":{"type":"array","items":{"type":"string"}},
 "conditions":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["type"],"items":{"type":"object","properties":{
  "type":{"type":"string"},"status":{"type":"string"},"lastTransitionTime":{"type":"string","format":"date-time"},
  "reason":{"type":"string"},"message":{"type":"string"},"observedGeneration":{"type":"integer"}}}}}}}}`

const definitionNames = `{"type":"object","properties":{"plural":{"type":"string"},"singular":{"type":"string"},
 "kind":{"type":"string"},"listKind":{"type":"string"},
 "shortNames":{"type":"array","items":{"type":"string"}},"categories":{"type":"array","items":{"type":"string"}}}}`

// zeroObject is what a new value of the type encodes to.
func zeroObject(of any) (map[string]any, error) {
	data, err := json.Marshal(of)
	if err != nil {
		return nil, fmt.Errorf("zero value of %T: %w", of, err)
	}
	var zero map[string]any
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(data, &zero); err != nil {
		return nil, fmt.Errorf("zero value of %T: %w", of, err)
	}
	return zero, nil
}

// readBuiltins carries the schema over from the version of
// structured-merge-diff that client-go uses to the one used here.
func readBuiltins() (*typed.Parser, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("types of built-in kinds: %w", err)
	}
	any := &corev1.ConfigMap{}
	any.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	object, err := applyconfigurations.NewTypeConverter(scheme).ObjectToTyped(any)
	if err != nil {
		return nil, fmt.Errorf("types of built-in kinds: %w", err)
	}
	text, err := yaml.Marshal(object.Schema())
	if err != nil {
		return nil, fmt.Errorf("types of built-in kinds: %w", err)
	}
	parser, err := typed.NewParser(typed.YAMLObject(text))
	if err != nil {
		return nil, fmt.Errorf("types of built-in kinds: %w", err)
	}
	return parser, nil
}
