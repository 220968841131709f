package kinds

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// ErrNoStrategicPatch tells that a kind takes no strategic merge patch: custom
// resources do not, their schemas say nothing about how to merge.
var ErrNoStrategicPatch = errors.New("the kind takes no strategic merge patch")

// patchMetas keeps what the tags of a Go type say about merging.
var patchMetas sync.Map // reflect.Type -> strategicpatch.PatchMetaFromStruct

// StrategicMerge applies a strategic merge patch to a decoded object and returns the
// result. obj may be changed; patch is not.
func (k *Kind) StrategicMerge(obj, patch map[string]any) (map[string]any, error) {
	if k.rules.typ == nil {
		return nil, ErrNoStrategicPatch
	}
	meta, ok := patchMetas.Load(k.rules.typ)
	if !ok {
		made, err := strategicpatch.NewPatchMetaFromStruct(reflect.New(k.rules.typ).Interface())
		if err != nil {
			return nil, fmt.Errorf("strategic merge patch of a %s: %w", k.Kind, err)
		}
		meta, _ = patchMetas.LoadOrStore(k.rules.typ, made)
	}
	return strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(obj, patch, meta.(strategicpatch.PatchMetaFromStruct))
}
