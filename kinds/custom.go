package kinds

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// schema returns the compiled schema of a custom kind, nil if the definition
// has none. It is compiled at first use.
func (k *Kind) schema() (*schema, error) {
	if k.definition == nil {
		return nil, nil
	}
	l := k.definition.schemas[k.Version]
	if l == nil {
		return nil, nil
	}
	return l.get()
}

// conformCustom is Conform for custom kinds.
func (k *Kind) conformCustom(obj map[string]any) ([]error, error) {
	strict, err := conformMeta(obj, k.Kind, k.Version)
	if err != nil {
		return nil, err
	}
	s, err := k.schema()
	if err != nil {
		return nil, k.typeError(err)
	}
	if s == nil {
		return strict, nil
	}
	more, err := s.prune(obj)
	if err != nil {
		return nil, k.typeError(err)
	}
	return append(strict, more...), nil
}

func (k *Kind) typeError(err error) error {
	return &TypeError{Kind: k.Kind, Version: k.Version, Err: err}
}

// applyDefaults sets the defaults of a custom kind's schema. A schema that
// cannot be compiled is reported by Conform and Validate.
func (k *Kind) applyDefaults(obj map[string]any) {
	if s, err := k.schema(); err == nil && s != nil {
		s.root.applyDefaults(obj)
	}
}

// validateCustom is Validate for custom kinds.
func (k *Kind) validateCustom(obj, old map[string]any, status bool) field.ErrorList {
	s, err := k.schema()
	switch {
	case err != nil:
		return field.ErrorList{field.InternalError(nil, err)}
	case s == nil:
		return k.rules.scale.validate(obj, nil)
	case status && old != nil:
		return s.validateStatus(obj, old, k.rules.scale)
	}
	return s.validate(obj, old, k.rules.scale)
}
