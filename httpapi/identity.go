package httpapi

import (
	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// uidOf reads the uid of an encoded object.
func uidOf(data []byte) types.UID {
	return types.UID(gjson.GetBytes(data, "metadata.uid").String())
}

func schemaResource(group, resource string) schema.GroupResource {
	return schema.GroupResource{Group: group, Resource: resource}
}
