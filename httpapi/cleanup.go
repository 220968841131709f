package httpapi

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kronicle/kronicle/kinds"
	"github.com/kronicle/kronicle/projections"
)

// Holders of other objects, for package controllers.
type (
	// NamespaceContents empties and releases namespaces.
	NamespaceContents struct{ S *Server }
	// DefinitionContents empties and releases definitions.
	DefinitionContents struct{ S *Server }
)

// Empty deletes every object in the namespace, of every resource that has any, also
// of resources that are not served any more.
func (c NamespaceContents) Empty(ctx context.Context, name string) (left int, err error) {
	for _, gr := range c.S.store.Resources() {
		kind, ok := c.S.kinds.Current().Storage(gr.Group, gr.Resource)
		if !ok {
			continue // its definition is gone, and took its objects with it
		}
		if !kind.Namespaced {
			continue
		}
		n, err := c.S.empty(ctx, kind, name)
		if err != nil {
			return 0, fmt.Errorf("empty namespace %s of %s: %w", name, resourceName(gr.Group, gr.Resource), err)
		}
		left += n
	}
	return left, nil
}

// Release takes the finalizer off the namespace's spec, which deletes it.
func (c NamespaceContents) Release(ctx context.Context, name string) error {
	return c.S.release(ctx, "", "namespaces", name, func(obj map[string]any) {
		if spec, ok := obj["spec"].(map[string]any); ok {
			delete(spec, "finalizers")
		}
	})
}

// Empty deletes every object of the definition's kind.
func (c DefinitionContents) Empty(ctx context.Context, name string) (int, error) {
	kind, ok := c.S.definitionKind(name)
	if !ok {
		return 0, nil // its names were never accepted: nothing was ever created
	}
	return c.S.empty(ctx, kind, "")
}

func (s *Server) definitionKind(name string) (kind *kinds.Kind, ok bool) {
	s.kinds.Current().Kinds(func(k *kinds.Kind) bool {
		if k.Definition == name {
			kind, ok = s.kinds.Current().Storage(k.Group, k.Resource)
		}
		return !ok
	})
	return kind, ok
}

// Release takes the finalizer off the definition, which deletes it. Definitions that
// wanted its names get them now.
func (c DefinitionContents) Release(ctx context.Context, name string) error {
	_, group, _ := strings.Cut(name, ".")
	if err := c.S.releaseDefinition(ctx, name); err != nil {
		return err
	}
	for _, other := range c.S.kinds.Conflicted(group) {
		if err := c.S.reviewNames(ctx, other); err != nil {
			return err
		}
	}
	return nil
}

// reviewNames decides once more whether a definition's names are free.
func (s *Server) reviewNames(ctx context.Context, name string) error {
	return s.rewrite(ctx, "apiextensions.k8s.io", "customresourcedefinitions", name,
		func(q *request, obj map[string]any, live *projections.Object) error {
			_, err := q.mutate(obj, live, writeOptions{untracked: true})
			return err
		})
}

func (s *Server) releaseDefinition(ctx context.Context, name string) error {
	return s.release(ctx, "apiextensions.k8s.io", "customresourcedefinitions", name, func(obj map[string]any) {
		meta := metaOf(obj)
		kept := []any{}
		all, _ := meta["finalizers"].([]any)
		for _, f := range all {
			if f != definitionFinalizer {
				kept = append(kept, f)
			}
		}
		meta["finalizers"] = kept
	})
}

// empty deletes the objects of a kind in a namespace ("" is all) and tells how many
// finalizers hold back.
func (s *Server) empty(ctx context.Context, kind *kinds.Kind, namespace string) (left int, err error) {
	if _, err := s.store.Fresh(ctx); err != nil {
		return 0, err
	}
	q := s.internal(ctx, kind, "deletecollection")
	var all []*projections.Object
	s.store.View(q.gr()).Ascend(namespace, "", func(o *projections.Object) bool {
		if o.Deleting() {
			left++
		} else {
			all = append(all, o)
		}
		return true
	})
	if len(all) == 0 {
		return left, nil
	}
	if err := q.removeAll(all, &metav1.DeleteOptions{}); err != nil {
		return 0, err
	}
	return s.store.View(q.gr()).Count(namespace, ""), nil
}

// release changes a terminating object so that nothing holds it any more.
func (s *Server) release(ctx context.Context, group, resource, name string, change func(map[string]any)) error {
	return s.rewrite(ctx, group, resource, name, func(q *request, obj map[string]any, live *projections.Object) error {
		change(obj)
		_, err := q.commitUpdate(obj, live, writeOptions{untracked: true})
		return err
	})
}

// rewrite makes a write of the server's own from the newest state of an object, again
// as long as others come first. An object that is gone needs none.
func (s *Server) rewrite(ctx context.Context, group, resource, name string, write func(*request, map[string]any, *projections.Object) error) error {
	kind, ok := s.kinds.Current().Storage(group, resource)
	if !ok {
		return fmt.Errorf("rewrite %s %s: not served", resourceName(group, resource), name)
	}
	q := s.internal(ctx, kind, "update")
	q.name = name
	for {
		live, err := q.live(true)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		obj, err := q.decodeLive(live)
		if err != nil {
			return err
		}
		if err = write(q, obj, live); !isConflict(err) || ctx.Err() != nil {
			return err
		}
	}
}
