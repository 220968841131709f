package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"

	"github.com/kronicle/kronicle/fieldmanager"
	"github.com/kronicle/kronicle/kinds"
	"github.com/kronicle/kronicle/projections"
)

const applyType = "application/apply-patch+yaml"

// The fields that a write does not set, whatever its body says: the main endpoint
// leaves the status to its own, which leaves everything else to the main one.
var (
	resetMain   = fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	resetStatus = fieldpath.NewSet(fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("metadata"))
)

// manager is the field manager of a kind, made at its first write and gone with it.
func (s *Server) manager(k *kinds.Kind) *fieldmanager.Manager {
	return k.Attach(func() any {
		cfg := fieldmanager.Config{APIVersion: k.APIVersion, Kind: k.Kind, Type: s.mergeType(k), Others: map[string]*fieldmanager.Type{}}
		s.kinds.Current().Kinds(func(other *kinds.Kind) bool {
			if other.Group == k.Group && other.Resource == k.Resource && other.Version != k.Version {
				cfg.Others[other.APIVersion] = s.mergeType(other)
			}
			return true
		})
		if k.HasStatus {
			cfg.ResetFields = map[string]*fieldpath.Set{"": resetMain, "status": resetStatus}
		}
		return fieldmanager.New(cfg)
	}).(*fieldmanager.Manager)
}

// mergeType says how objects of a kind merge. A schema that cannot be used for that
// leaves the types to be deduced from the objects, as for a kind without one.
func (s *Server) mergeType(k *kinds.Kind) *fieldmanager.Type {
	var (
		t   *fieldmanager.Type
		err error
	)
	if k.Custom {
		t, err = fieldmanager.FromOpenAPI(k.SchemaJSON())
	} else {
		t, err = s.builtins.Type(k.New())
	}
	if err != nil {
		s.slog.Warn("fields are tracked without a schema", "kind", k.Kind, "apiVersion", k.APIVersion, "error", err)
		return fieldmanager.Deduced()
	}
	return t
}

// track writes the managed fields of an update or, where old is nil, of a creation.
// What the server does by itself is not tracked. A write that cannot be tracked goes
// on with the entries as they were.
func (q *request) track(old, obj map[string]any, o writeOptions) {
	if o.untracked {
		return
	}
	if err := q.s.manager(q.kind).Update(old, obj, q.fieldActor(o)); err != nil {
		q.s.slog.Warn("a write is not tracked", "resource", resourceName(q.kind.Group, q.kind.Resource),
			"namespace", q.namespace, "name", q.name, "error", err)
	}
}

func (q *request) fieldActor(o writeOptions) fieldmanager.Actor {
	return fieldmanager.Actor{Manager: managerOf(o.fieldManager, q.r.UserAgent()), Subresource: q.subresource, Now: q.s.now()}
}

// apply answers a server-side apply: it creates what is missing, and is tried again
// on the newest state like any patch.
func (q *request) apply() error {
	o, err := q.applyOptions()
	if err != nil {
		return err
	}
	body, err := q.readBody()
	if err != nil {
		return err
	}
	config, err := q.decodeApplied(body, o.fieldValidation)
	if err != nil {
		return err
	}
	for {
		code, data, err := q.applyOnce(config, o)
		if isConflict(err) || apierrors.IsAlreadyExists(err) && !o.dryRun && q.r.Context().Err() == nil {
			if cerr := q.r.Context().Err(); cerr != nil {
				return errors.Join(cerr, errMoved)
			}
			continue
		}
		if err != nil {
			return err
		}
		return q.writeObject(code, data)
	}
}

// decodeApplied reads an applied configuration, YAML or JSON.
func (q *request) decodeApplied(body []byte, fieldValidation string) (map[string]any, error) {
	decode := kinds.DecodeYAML
	if len(bytes.TrimSpace(body)) > 0 && bytes.TrimSpace(body)[0] == '{' {
		decode = kinds.DecodeJSON
	}
	config, strict, err := decode(body)
	if err != nil {
		return nil, badRequest("error decoding YAML: %v", err)
	}
	return config, q.strictness(fieldValidation, strict)
}

func (q *request) applyOnce(config map[string]any, o writeOptions) (code int, data []byte, err error) {
	code = http.StatusOK
	data, err = q.onLive(func(live *projections.Object) ([]byte, error) {
		var old map[string]any
		if live != nil {
			if old, err = q.decodeLive(live); err != nil {
				return nil, err
			}
			old["apiVersion"] = q.kind.APIVersion
		}
		if err := q.checkApplied(config, live); err != nil {
			return nil, err
		}
		merged, err := q.s.manager(q.kind).Apply(old, config, q.fieldActor(o), o.force)
		if err != nil {
			return nil, applyError(err)
		}
		next := o
		next.untracked = true // Apply has written the entries
		if live == nil {
			code = http.StatusCreated
			return q.createApplied(merged, next)
		}
		code = http.StatusOK
		if err := q.conformPatched(merged, next); err != nil {
			return nil, err
		}
		return q.mutate(merged, live, next)
	})
	return code, data, err
}

// checkApplied holds what a configuration says of its object against the path and
// the live state; live is nil where there is no object.
func (q *request) checkApplied(config map[string]any, live *projections.Object) error {
	meta, _ := config["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		config["metadata"] = meta
	}
	if str(meta, "name") == "" {
		meta["name"] = q.name
	}
	if q.kind.Namespaced && str(meta, "namespace") == "" {
		meta["namespace"] = q.namespace
	}
	if err := q.matchName(config); err != nil {
		return err
	}
	uid, version := str(meta, "uid"), str(meta, "resourceVersion")
	switch {
	case live == nil && uid != "":
		return q.conflict(fmt.Sprintf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
	case live == nil && q.subresource != "":
		return q.notFound()
	case live == nil:
		return nil
	case uid != "" && uid != live.UID():
		return q.invalid(q.name, field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
	case version != "" && version != versionString(live.RV()):
		return q.conflict(modified)
	}
	return nil
}

// createApplied creates an object from an applied configuration.
func (q *request) createApplied(merged map[string]any, o writeOptions) ([]byte, error) {
	if err := q.conformPatched(merged, o); err != nil {
		return nil, err
	}
	return q.createObject(merged, o)
}

// conformPatched fits an object that a patch made to its kind.
func (q *request) conformPatched(obj map[string]any, o writeOptions) error {
	if err := q.checkKind(obj, nil); err != nil {
		return err
	}
	unknown, err := q.conform(obj)
	if err != nil {
		return err
	}
	return q.patchStrictness(o.fieldValidation, obj, unknown)
}

// applyError puts an error of the field manager into a Status.
func applyError(err error) error {
	var (
		conflict *fieldmanager.ConflictError
		refused  *fieldmanager.RefusedError
		config   *fieldmanager.ConfigError
	)
	switch {
	case errors.As(err, &conflict):
		causes := make([]metav1.StatusCause, len(conflict.Causes))
		for i, c := range conflict.Causes {
			causes[i] = metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Message: c.Message, Field: c.Field}
		}
		return apierrors.NewApplyConflict(causes, conflict.Error())
	case errors.As(err, &refused), errors.As(err, &config):
		return apierrors.NewBadRequest(err.Error())
	}
	return err
}

// applyOptions reads and validates the parameters of an apply.
func (q *request) applyOptions() (writeOptions, error) {
	var po metav1.PatchOptions
	o, err := q.readPatchOptions(&po, applyType)
	if err != nil {
		return o, err
	}
	o.force = po.Force != nil && *po.Force
	return o, nil
}
