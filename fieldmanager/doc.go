// Package fieldmanager keeps metadata.managedFields: who owns which fields of
// an object. Every write is tracked (Manager.Update), and a server-side apply
// merges a configuration by what its applier owns (Manager.Apply). It stands
// on structured-merge-diff/v4 and behaves as the managedfields package of
// k8s.io/apimachinery does, which is built on another version of it.
//
//	Type       how the objects of a kind in one version merge: made from a
//	           definition's schema (FromOpenAPI), from client-go's types
//	           (Builtins) or without a schema (Deduced)
//	Manager    tracks and applies for one kind, read and written in one version
//	Actor      who writes, through which subresource, when
//	Scale      carries the ownership of replicas between an object and its scale
//
// The package knows no log, no projections and no HTTP.
//
// # Two ways
//
// What happens all the time takes a short way: creations, and updates of
// objects whose entries are all of the version they are written in (track.go),
// and applies that give nothing up, conflict with nobody and leave the order of
// lists alone (quick.go). A walk over both objects with a compiled schema
// (shape.go, walk.go, items.go) finds what differs (delta.go), and only entries
// that lose or gain a field are touched (fields.go). Everything else takes the
// general way (general.go, apply.go), which leaves comparing, merging and
// pruning to structured-merge-diff. The short way is some ten times faster, and
// twenty in an apply.
//
// # Invariants
//
//  1. A Type and a Manager never change; they may be shared and used by any
//     number of goroutines (New and the makers of types).
//  2. The short way gives what the general way gives, or steps aside (walker,
//     Manager.track, Manager.quick). Random tests compare them. Where the live
//     object does not fit the schema, which fails the general way of an apply,
//     the short one only looks at what is applied.
//  3. Neither live objects nor applied configurations are changed, and the
//     result of Apply shares nothing with them but entries, which are never
//     changed (Manager.Apply). Update changes nothing but
//     metadata.managedFields of obj.
//  4. A write that changes nothing leaves entries and their times as they are
//     (Manager.track, Manager.update, Manager.finish).
//  5. Entries that Update and Apply made are canonical: sets without empty
//     nodes, keys as structured-merge-diff writes them (delta, encodeSet). The
//     short way relies on it, and so uses only entries it finds in the live
//     object; those in a request go through the general way.
//  6. There are at most ten entries of operation Update after an Update
//     (managed.limit, Manager.retrack).
//
// # Caveats
//
//   - fieldsV1 of a creation's entry is json.RawMessage, in the order and form
//     in which kinds.Encode would write it; everywhere else it is decoded JSON.
//     Code between Update and the encoder must not expect maps only.
//   - Entries of an object are shared between the live object and the written
//     one; both must be left alone once one of them is used elsewhere.
//   - Objects must be decoded JSON with int64 and float64 numbers.
//   - Fields that a schema does not know are tracked by what they hold, but
//     cannot be applied.
//   - Apply leaves in the object what the configuration has of fields that the
//     write does not set; putting them back is the caller's, as after a PUT.
//   - Updates after clearing are not tracked until the next apply, but those of
//     the clearing request itself are, as the documentation of Kubernetes says;
//     its code does not track them.
//   - An apply that changes no value, such as one that only shares a field,
//     sets no time: a new entry then has none. Kubernetes does the same.
package fieldmanager
