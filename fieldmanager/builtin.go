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
// schema in client-go, takes about a quarter of a second to read: it is read at
// the first use, and the kinds that every server begins with (known.go) do not
// need it. The zero value is ready.
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
	if s := knownSchema(named.OpenAPIModelName()); s != "" {
		return closed(s)
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
