package kinds

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	crvalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	sigsjson "sigs.k8s.io/json"
)

// lazySchema is the schema of one version of a definition: bytes until someone
// writes an object of it. It goes when its kinds go.
type lazySchema struct {
	raw []byte
	sync.Once
	compiled *schema
	err      error
}

func (l *lazySchema) get() (*schema, error) {
	l.Do(func() { l.compiled, l.err = compileSchema(l.raw) })
	return l.compiled, l.err
}

// schema is a compiled structural schema. The root is what this package
// checks by itself; the other fields are the library's and asked where the
// root is not sure.
type schema struct {
	structural *structuralschema.Structural
	validator  crvalidation.SchemaValidator
	status     crvalidation.SchemaValidator // of the status alone; nil without one
	cel        *cel.Validator               // nil without rules
	root       *schemaNode
	embedded   bool // an embedded resource is in it somewhere
	lists      bool // a set or a map list is in it somewhere
}

// compileSchema compiles an openAPIV3Schema.
func compileSchema(raw []byte) (*schema, error) {
	var v1 apiextensionsv1.JSONSchemaProps
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(raw, &v1); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, props, nil); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	structural, err := structuralschema.NewStructural(props)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	structural = structural.DeepCopy() // what the library makes shares its defaults with props
	if err := defaulting.PruneDefaults(structural); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	s := &schema{structural: structural}
	if s.validator, _, err = crvalidation.NewSchemaValidator(props); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if status, ok := props.Properties["status"]; ok {
		if s.status, _, err = crvalidation.NewSchemaValidator(&status); err != nil {
			return nil, fmt.Errorf("schema: %w", err)
		}
	}
	s.cel = cel.NewValidator(structural, true, celconfig.PerCallLimit)
	s.root = s.newNode(structural)
	return s, nil
}

// prune makes obj conform: unknown fields go, and nulls where they may not be;
// the metadata of embedded resources is made what metadata can be. The
// metadata at the root is left alone.
func (s *schema) prune(obj map[string]any) (unknown []error, err error) {
	w := pruner{}
	w.root(s.root, obj)
	unknown = w.strict()
	if w.nulls {
		defaulting.PruneNonNullableNullsWithoutDefaults(obj, s.structural)
	}
	if !s.embedded {
		return unknown, nil
	}
	fieldErr, paths := objectmeta.CoerceWithOptions(nil, obj, s.structural, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if fieldErr != nil {
		return unknown, fieldErr
	}
	for _, p := range paths {
		unknown = append(unknown, fmt.Errorf("unknown field %q", p))
	}
	return unknown, nil
}

// validate returns what is wrong with obj by the schema; old is nil on create.
// What was wrong in old already and has not changed is forgiven, as
// apiextensions-apiserver's strategy does it.
func (s *schema) validate(obj, old map[string]any, scale *scalePaths) field.ErrorList {
	sure := s.root.certain(obj)
	var related *common.CorrelatedObject
	if old != nil && (!sure || s.cel != nil) {
		related = common.NewCorrelatedObject(obj, old, &model.Structural{Structural: s.structural})
	}
	var errs field.ErrorList
	switch {
	case sure:
	case old == nil:
		errs = crvalidation.ValidateCustomResource(nil, obj, s.validator)
	default:
		errs = crvalidation.ValidateCustomResourceUpdate(nil, obj, old, s.validator, crvalidation.WithRatcheting(related))
	}
	errs = scale.validate(obj, errs)
	return s.validateRest(obj, old, related, sure, errs)
}

// validateStatus is validate for what the status endpoint wrote: of the
// structure only the status is looked at.
func (s *schema) validateStatus(obj, old map[string]any, scale *scalePaths) field.ErrorList {
	var errs field.ErrorList
	related := common.NewCorrelatedObject(obj, old, &model.Structural{Structural: s.structural})
	status, given := obj["status"]
	sure := !given || s.status == nil || s.root.props["status"].certain(status)
	if !sure {
		errs = crvalidation.ValidateCustomResourceUpdate(field.NewPath("status"), status, old["status"], s.status, crvalidation.WithRatcheting(related.Key("status")))
	}
	errs = scale.validate(obj, errs)
	return s.validateRest(obj, old, related, sure && s.root.certain(obj), errs)
}

// validateRest checks embedded resources, lists and rules.
func (s *schema) validateRest(obj, old map[string]any, related *common.CorrelatedObject, sure bool, errs field.ErrorList) field.ErrorList {
	ctx := context.Background()
	if s.embedded {
		errs = append(errs, objectmeta.Validate(ctx, nil, obj, s.structural, false)...)
	}
	if s.lists && !sure {
		if old == nil || len(listtype.ValidateListSetsAndMaps(nil, s.structural, old)) == 0 {
			errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, obj)...)
		}
	}
	if s.cel == nil {
		return errs
	}
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return append(errs, field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"))
		}
	}
	var options []cel.Option
	var before any // an untyped nil is what tells the library of a create
	if old != nil {
		before, options = old, []cel.Option{cel.WithRatcheting(related)}
	}
	more, _ := s.cel.Validate(ctx, nil, s.structural, obj, before, celconfig.RuntimeCELCostBudget, options...)
	return append(errs, more...)
}
