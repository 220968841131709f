package fieldmanager

import (
	sigsjson "sigs.k8s.io/json"
)

// knownSchema is the schema of a built-in kind that is written down here, by
// the name of its model, or "". A test holds those that client-go has against
// it.
func knownSchema(model string) string {
	switch model {
	case "io.k8s.api.core.v1.ConfigMap":
		return configMapSchema
	case "io.k8s.api.core.v1.Namespace":
		return namespaceSchema
	case "io.k8s.api.coordination.v1.Lease":
		return leaseSchema
	case "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition":
		return definitionSchema
	}
	return ""
}

// closed makes the type of a kind whose objects have no fields but those of
// the schema.
func closed(openAPIV3Schema string) (*Type, error) {
	var root map[string]any
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts([]byte(openAPIV3Schema), &root); err != nil {
		return nil, &SchemaError{Path: "root", What: err.Error()}
	}
	p, err := openAPIType(root, false)
	if err != nil {
		return nil, err
	}
	return &Type{open: p, strict: p}, nil
}

const (
	configMapSchema = `{"properties":{"immutable":{"type":"boolean"},
"data":{"type":"object","additionalProperties":{"type":"string"}},
"binaryData":{"type":"object","additionalProperties":{"type":"string","format":"byte"}}}}`

	namespaceSchema = `{"properties":{
"spec":{"type":"object","properties":{"finalizers":{"type":"array","items":{"type":"string"}}}},
"status":{"type":"object","properties":{"phase":{"type":"string"},
 "conditions":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["type"],"items":{"type":"object","properties":{
  "type":{"type":"string","default":""},"status":{"type":"string","default":""},
  "lastTransitionTime":{"type":"string","format":"date-time"},"reason":{"type":"string"},"message":{"type":"string"}}}}}}}}`

	leaseSchema = `{"properties":{"spec":{"type":"object","properties":{
"acquireTime":{"type":"string","format":"date-time"},"renewTime":{"type":"string","format":"date-time"},
"holderIdentity":{"type":"string"},"preferredHolder":{"type":"string"},"strategy":{"type":"string"},
"leaseDurationSeconds":{"type":"integer"},"leaseTransitions":{"type":"integer"}}}}}`
)

// definitionSchema is that of CustomResourceDefinition, which client-go does
// not have. Versions are owned as a whole.
const definitionSchema = `{"properties":{
"spec":{"type":"object","properties":{
 "group":{"type":"string"},"scope":{"type":"string"},"preserveUnknownFields":{"type":"boolean"},
 "names":` + definitionNames + `,
 "versions":{"type":"array","items":{"x-kubernetes-preserve-unknown-fields":true}},
 "conversion":{"type":"object","properties":{"strategy":{"type":"string"},"webhook":{"type":"object","properties":{
  "conversionReviewVersions":{"type":"array","items":{"type":"string"}},
  "clientConfig":{"type":"object","properties":{"url":{"type":"string"},"caBundle":{"type":"string"},"service":{"type":"object","properties":{
   "name":{"type":"string"},"namespace":{"type":"string"},"path":{"type":"string"},"port":{"type":"integer"}}}}}}}}}}},
"status":{"type":"object","properties":{
 "acceptedNames":` + definitionNames + `,"observedGeneration":{"type":"integer"},
 "storedVersions":{"type":"array","items":{"type":"string"}},
 "conditions":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["type"],"items":{"type":"object","properties":{
  "type":{"type":"string"},"status":{"type":"string"},"lastTransitionTime":{"type":"string","format":"date-time"},
  "reason":{"type":"string"},"message":{"type":"string"},"observedGeneration":{"type":"integer"}}}}}}}}`

const definitionNames = `{"type":"object","properties":{"plural":{"type":"string"},"singular":{"type":"string"},
 "kind":{"type":"string"},"listKind":{"type":"string"},
 "shortNames":{"type":"array","items":{"type":"string"}},"categories":{"type":"array","items":{"type":"string"}}}}`
