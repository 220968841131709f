// Package kinds knows which resources are served: the built-in ones, which are
// a catalogue of data (builtin_*.go) over the Go types of k8s.io/api, and the
// custom ones that definitions (CustomResourceDefinition objects) make. For
// every kind it knows names, verbs, types, defaults, validation, the form it
// is stored in, table columns, selectable fields, discovery and OpenAPI, and it holds
// the codecs of objects: JSON, YAML and protobuf.
//
//	Kind      one group, version and resource, with all that is special about it
//	Catalog   the kinds served at one moment, and their discovery documents
//	Registry  takes in definitions and gives out the catalogue they make
//	Encode, DecodeJSON, DecodeYAML   objects to bytes and back
//	Unchecked what a built-in kind's rules are still missing
//
// An object on its way in goes through Conform (drop what is unknown),
// PrepareCreate or PrepareUpdate (defaults, and what the server sets), Validate
// and ToStorage, in this order; on its way out through FromStorage or
// ServedJSON.
//
// # Where the rules of a built-in kind are
//
//	settingsOf   defaults of single fields, a table
//	checksOf     rules about single values, a table
//	entry.rules  functions for what looks at more than one field
//
// # Custom kinds
//
// Their schemas are enforced as apiextensions-apiserver does it, by its
// packages. Those cost 135 us for a small object, so a schema is also compiled
// into nodes (schema_node.go), which prune and set defaults by themselves and
// tell of most valid objects, in 3 us, that they are valid for sure. Whatever
// they are not sure of is decided by the library, and so is the text of every
// error. A random test holds the two against each other.
//
// The package may know Kubernetes libraries. It knows no log, no projections
// and no HTTP.
//
// # Invariants
//
//  1. A Kind, a Catalog and a Document never change once they were returned
//     (Registry makes new ones; callers must not write to them).
//  2. Once SetDefinition or RemoveDefinition has returned, Current shows it, at
//     once in lookup and in every discovery document (Registry).
//  3. A change makes anew only its own group; the other groups of the next
//     Catalog are the same ones, with the documents they have made
//     (Registry.makeGroup, newCatalog).
//  4. Lookup does not allocate and, while no definition changes, does not lock.
//  5. Whatever is dear is made at first use: documents, plans of Go types,
//     column paths, tables of rules, the scheme of definitions. Schemas stay
//     bytes until an object is written (lazySchema); what was made of them goes
//     with the definition, or stays if a change leaves them alone
//     (definition.inherit). Nothing is computed when the program starts.
//  6. Encode of an object depends on nothing but its content, and decoding its
//     result and encoding again gives the same bytes and offset (encoder).
//     What is stored can therefore be compared as bytes.
//  7. DecodeJSON gives what sigs.k8s.io/json gives, errors and strict errors
//     included: the quick decoder either agrees or steps aside (decoder).
//  8. Conform gives what decoding into the kind's Go type and encoding that
//     gives (plan). The type errors are those of that decoding.
//  9. A built-in kind is never hidden by a custom one (Registry.makeGroup).
//  10. What PrepareCreate makes conforms, and PrepareUpdate with the same object
//     changes nothing (settings and rules; tested for random objects of every
//     kind).
//  11. If a node is certain of a value, the library finds nothing wrong with it
//     (schemaNode.certain).
//
// # Group order
//
// /apis lists groups by the priority an aggregator would give them, the highest
// first, and by name where it is the same: built-in groups have each their own
// (priority), all groups of definitions have 1000. Within a group versions are
// ordered as Kubernetes does: v2 before v1 before v2beta1 before v1alpha1
// before other names; the first is the preferred one.
//
// # Caveats
//
//   - Strings that DecodeJSON returns share nothing with the body. Field names
//     are shared between objects.
//   - Encode puts apiVersion, kind and metadata first and only then goes by
//     order of bytes, so a ConfigMap's data comes after its metadata.
//   - Encode returns -1 for the place of the resourceVersion if the metadata
//     has no uid (or selfLink) to come after it.
//   - Bytes given to SetDefinition are kept and must not be changed.
//   - Two definitions prepared at the same time may both be given one name.
//   - A schema that does not compile, which validation of definitions should
//     prevent, makes Conform fail: nothing unchecked is stored.
//   - Objects stored before a default came into their schema are served without
//     it until they are written again.
//   - Field takes an object as it is stored.
//   - ToStorage and FromStorage are needed by every kind whose StorageGroup or
//     StorageVersion is not its own: the apiVersion alone does not make another
//     form of it (Converts).
//   - autoscaling/v1 keeps what it has no field for in annotations, and the
//     order in which metrics come back from there is not theirs.
//   - Addresses and ports of services are not given out here.
//   - APIServices have no protobuf form.
//   - Conform drops an optional value that Go would write as null, as it does a
//     zero time behind a pointer.
//   - Where Conform meets what the plan does not cover (a null within a map or
//     a list) it decodes into the Go type; unknown fields that it had not met
//     by then are dropped unreported.
//   - The OpenAPI schemas of built-in kinds have what their Go types tell: no
//     x-kubernetes-list-type, and no descriptions where a type has none to give.
//     The index of OpenAPI makes the documents of all groups, for their hashes.
package kinds
