package httpapi

import (
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kronicle/kronicle/kinds"
	"github.com/kronicle/kronicle/projections"
)

// The scale subresource shows an object as an autoscaling/v1 Scale and takes the
// number of replicas from one. What it writes is owned under the subresource's name.

// getScale answers GET of a scale.
func (q *request) getScale() error {
	live, err := q.live(true)
	if err != nil {
		return err
	}
	obj, err := q.decodeLive(live)
	if err != nil {
		return err
	}
	return q.writeScale(obj)
}

func (q *request) writeScale(obj map[string]any) error {
	scale, err := q.kind.ScaleOf(obj)
	if err != nil {
		return q.notFound()
	}
	return q.writeJSON(http.StatusOK, scale)
}

// updateScale answers PUT of a scale.
func (q *request) updateScale() error {
	o, err := q.updateOptions()
	if err != nil {
		return err
	}
	body, err := q.readBody()
	if err != nil {
		return err
	}
	scale, strict, err := q.decode(body)
	if err != nil {
		return err
	}
	if err := q.strictness(o.fieldValidation, strict); err != nil {
		return err
	}
	data, err := q.onLive(func(live *projections.Object) ([]byte, error) {
		if live == nil {
			return nil, q.notFound()
		}
		return q.setScale(scale, live, o)
	})
	if isConflict(err) {
		err = q.conflict(modified)
	}
	return q.answerScale(data, err)
}

// patchScale answers PATCH of a scale with a JSON patch or a merge patch.
func (q *request) patchScale() error {
	o, err := q.patchOptions(q.contentType())
	if err != nil {
		return err
	}
	body, err := q.readBody()
	if err != nil {
		return err
	}
	for {
		data, err := q.onLive(func(live *projections.Object) ([]byte, error) {
			if live == nil {
				return nil, q.notFound()
			}
			scale, err := q.patchedScale(live, body)
			if err != nil {
				return nil, err
			}
			return q.setScale(scale, live, o)
		})
		if isConflict(err) && q.r.Context().Err() == nil {
			continue
		}
		return q.answerScale(data, err)
	}
}

func (q *request) patchedScale(live *projections.Object, body []byte) (map[string]any, error) {
	obj, err := q.decodeLive(live)
	if err != nil {
		return nil, err
	}
	scale, err := q.kind.ScaleOf(obj)
	if err != nil {
		return nil, q.notFound()
	}
	switch q.contentType() {
	case mergePatchType:
		p, err := q.decodePatch(body, "")
		if err != nil {
			return nil, err
		}
		return merge(scale, p), nil
	case jsonPatchType:
		p, err := jsonpatch.DecodePatch(body)
		if err != nil {
			return nil, badRequest("%v", err)
		}
		data, _, err := kinds.Encode(scale)
		if err != nil {
			return nil, err
		}
		if data, err = p.Apply(data); err != nil {
			return nil, rejected()
		}
		scale, _, err = kinds.DecodeJSON(data)
		return scale, err
	}
	return nil, unsupportedMedia(jsonPatchType + ", " + mergePatchType)
}

// setScale writes the number of replicas that a scale asks for.
func (q *request) setScale(scale map[string]any, live *projections.Object, o writeOptions) ([]byte, error) {
	meta := metaOf(scale)
	if kind, _ := scale["kind"].(string); kind != "" && kind != "Scale" {
		return nil, badRequest("the kind in the data is %q, it must be Scale", kind)
	}
	if name := str(meta, "name"); name != "" && name != q.name {
		return nil, badRequest("the name of the object (%s) does not match the name on the URL (%s)", name, q.name)
	}
	if uid := str(meta, "uid"); uid != "" && uid != live.UID() || str(meta, "resourceVersion") != "" && str(meta, "resourceVersion") != versionString(live.RV()) {
		return nil, q.conflict(modified)
	}
	obj, err := q.decodeLive(live)
	if err != nil {
		return nil, err
	}
	obj["apiVersion"] = q.kind.APIVersion
	spec, _ := scale["spec"].(map[string]any)
	replicas, ok := spec["replicas"].(int64)
	if !ok && spec["replicas"] != nil || replicas < 0 {
		return nil, q.invalid(q.name, field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), spec["replicas"], "must be greater than or equal to 0")})
	}
	if err := q.kind.SetScale(obj, replicas); err != nil {
		return nil, q.notFound()
	}
	return q.mutate(obj, live, o)
}

// answerScale answers with the scale of the object that was written.
func (q *request) answerScale(data []byte, err error) error {
	if err != nil {
		return err
	}
	if data, err = q.served(data); err != nil {
		return err
	}
	obj, _, err := kinds.DecodeJSON(data)
	if err != nil {
		return err
	}
	return q.writeScale(obj)
}
