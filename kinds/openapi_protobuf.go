package kinds

import (
	"fmt"

	openapiv3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
)

// protobuf is a document in that form, or why it has none.
type protobuf struct {
	data []byte
	err  error
}

// OpenAPIProtobuf is the document of OpenAPIGroupVersion in protobuf. It fails
// if a definition's schema is none that OpenAPI knows. The bytes are shared and
// must not be changed.
func (c *Catalog) OpenAPIProtobuf(group, version string) ([]byte, error) {
	doc, ok := c.OpenAPIGroupVersion(group, version)
	if !ok {
		return nil, fmt.Errorf("openapi of %s: not served", apiVersion(group, version))
	}
	p := c.groups[group].version(version).openAPIProtobuf.get(func() protobuf {
		d, err := openapiv3.ParseDocument(doc.JSON)
		if err != nil {
			return protobuf{err: fmt.Errorf("openapi of %s: parse: %w", apiVersion(group, version), err)}
		}
		data, err := proto.Marshal(d)
		return protobuf{data, err}
	})
	return p.data, p.err
}
