package httpapi

import (
	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// identity reads the name and the uid of an encoded object.
func identity(data []byte) (name string, uid types.UID) {
	m := gjson.GetBytes(data, "metadata")
	return m.Get("name").String(), types.UID(m.Get("uid").String())
}

func schemaResource(group, resource string) schema.GroupResource {
	return schema.GroupResource{Group: group, Resource: resource}
}
