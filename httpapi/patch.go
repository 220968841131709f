package httpapi

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kronicle/kronicle/kinds"
	"github.com/kronicle/kronicle/projections"
)

const (
	jsonPatchType  = "application/json-patch+json"
	mergePatchType = "application/merge-patch+json"
	strategicType  = "application/strategic-merge-patch+json"
	// maxPatchOperations is apiserver/pkg/endpoints/handlers/patch.go maxJSONPatchOperations.
	maxPatchOperations = 10000
)

func schemaKind(group, kind string) schema.GroupKind {
	return schema.GroupKind{Group: group, Kind: kind}
}

// A patcher makes the next state of an object from the newest one. It must not
// change what it is given.
type patcher func(live *projections.Object) (map[string]any, error)

// patch answers PATCH: the patch is tried again on the newest state when another
// write came first, until the request's time is over.
func (q *request) patch() error {
	if q.contentType() == applyType {
		return q.apply()
	}
	o, err := q.patchOptions(q.contentType())
	if err != nil {
		return err
	}
	body, err := q.readBody()
	if err != nil {
		return err
	}
	apply, err := q.patcher(body, o.fieldValidation)
	if err != nil {
		return err
	}
	for {
		data, err := q.patchOnce(apply, o)
		if isConflict(err) {
			if cerr := q.r.Context().Err(); cerr != nil {
				return errors.Join(cerr, errMoved)
			}
			continue
		}
		if err != nil {
			return err
		}
		return q.writeObject(http.StatusOK, data)
	}
}

// patcher reads a patch by its content type.
func (q *request) patcher(body []byte, fieldValidation string) (patcher, error) {
	switch q.contentType() {
	case jsonPatchType:
		return q.jsonPatcher(body)
	case mergePatchType:
		return q.mergePatcher(body, fieldValidation)
	case strategicType:
		if !q.kind.Custom {
			return q.strategicPatcher(body, fieldValidation)
		}
	}
	accepted := jsonPatchType + ", " + mergePatchType + ", " + applyType
	if !q.kind.Custom {
		accepted = jsonPatchType + ", " + mergePatchType + ", " + strategicType + ", " + applyType
	}
	return nil, unsupportedMedia(accepted)
}

func (q *request) patchOnce(apply patcher, o writeOptions) ([]byte, error) {
	return q.onLive(func(live *projections.Object) ([]byte, error) {
		if live == nil {
			return nil, q.notFound()
		}
		obj, err := apply(live)
		if err != nil {
			return nil, err
		}
		if err := q.checkPatched(obj, live, o); err != nil {
			return nil, err
		}
		return q.mutate(obj, live, o)
	})
}

// checkPatched holds a patched object to what a patch may change.
func (q *request) checkPatched(obj map[string]any, live *projections.Object, o writeOptions) error {
	if err := q.conformPatched(obj, o); err != nil {
		return err
	}
	if err := q.matchName(obj); err != nil {
		return err
	}
	meta := metaOf(obj)
	if uid := str(meta, "uid"); uid != "" && uid != live.UID() {
		return q.invalid(q.name, field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
	}
	if v := str(meta, "resourceVersion"); v != "" && v != versionString(live.RV()) {
		return q.conflict(modified) // the patch named a version, as a precondition
	}
	return nil
}

// patchStrictness is strictness in the words that a patch is refused with.
func (q *request) patchStrictness(fieldValidation string, obj map[string]any, findings []error) error {
	if len(findings) == 0 || fieldValidation != metav1.FieldValidationStrict {
		return q.strictness(fieldValidation, findings)
	}
	texts := make([]string, len(findings))
	for i, f := range findings {
		texts[i] = f.Error()
	}
	shown, _, err := kinds.Encode(obj)
	if err != nil {
		return err
	}
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), string(shown),
		"strict decoding error: "+strings.Join(texts, ", "))})
}

// jsonPatcher reads an RFC 6902 patch.
func (q *request) jsonPatcher(body []byte) (patcher, error) {
	p, err := jsonpatch.DecodePatch(body)
	if err != nil {
		return nil, badRequest("%v", err)
	}
	if len(p) > maxPatchOperations {
		return nil, tooLarge("The allowed maximum operations in a JSON patch is " + strconv.Itoa(maxPatchOperations) + ", got " + strconv.Itoa(len(p)))
	}
	return func(live *projections.Object) (map[string]any, error) {
		data, err := q.served(live.JSON())
		if err != nil {
			return nil, err
		}
		if data, err = p.Apply(data); err != nil {
			return nil, rejected()
		}
		obj, _, err := kinds.DecodeJSON(data)
		if err != nil {
			return nil, q.unrecognized(err, data)
		}
		return obj, nil
	}, nil
}

// rejected is all that Kubernetes says of a patch that does not apply
// (apimachinery/pkg/api/errors NewGenericServerResponse for 422).
func rejected() error {
	err := status(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "the server rejected our request due to an error in our request")
	err.ErrStatus.Details = &metav1.StatusDetails{}
	return err
}

// mergePatcher reads an RFC 7386 patch. It is applied to decoded values: the object
// is decoded and encoded once, not once more for the patch.
func (q *request) mergePatcher(body []byte, fieldValidation string) (patcher, error) {
	p, err := q.decodePatch(body, fieldValidation)
	if err != nil {
		return nil, err
	}
	return func(live *projections.Object) (map[string]any, error) {
		obj, err := q.decodeLive(live)
		if err != nil {
			return nil, err
		}
		obj["apiVersion"] = q.kind.APIVersion
		return merge(obj, p), nil
	}, nil
}

// decodePatch reads a patch that is an object.
func (q *request) decodePatch(body []byte, fieldValidation string) (map[string]any, error) {
	p, twice, err := kinds.DecodeJSON(body)
	if err != nil {
		return nil, badRequest("error decoding patch: %v", err)
	}
	return p, q.strictness(fieldValidation, twice)
}

// strategicPatcher reads a strategic merge patch, whose rules are in the tags of the
// kind's Go type.
func (q *request) strategicPatcher(body []byte, fieldValidation string) (patcher, error) {
	p, err := q.decodePatch(body, fieldValidation)
	if err != nil {
		return nil, err
	}
	return func(live *projections.Object) (map[string]any, error) {
		obj, err := q.decodeLive(live)
		if err != nil {
			return nil, err
		}
		obj["apiVersion"] = q.kind.APIVersion
		patched, err := q.kind.StrategicMerge(obj, runtime.DeepCopyJSON(p))
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return patched, nil
	}, nil
}

// merge applies an RFC 7386 patch to a decoded target, which it changes. The patch
// is not changed and shares nothing with the result: it is applied again when
// another write comes first.
func merge(target, patch map[string]any) map[string]any {
	if target == nil {
		target = make(map[string]any, len(patch))
	}
	for k, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(target, k)
		case map[string]any:
			t, _ := target[k].(map[string]any)
			target[k] = merge(t, v)
		default:
			target[k] = runtime.DeepCopyJSONValue(v)
		}
	}
	return target
}
