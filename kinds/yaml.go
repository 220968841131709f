package kinds

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// DecodeYAML decodes an object written in YAML, or JSON, as DecodeJSON does
// JSON. Keys given twice are reported in strict too; the last one counts.
func DecodeYAML(body []byte) (obj map[string]any, strict []error, err error) {
	data, err := yaml.YAMLToJSONStrict(body)
	if err != nil {
		loose, looseErr := yaml.YAMLToJSON(body)
		if looseErr != nil {
			return nil, nil, fmt.Errorf("error converting YAML to JSON: %w", looseErr)
		}
		data, strict = loose, []error{err}
	}
	obj, more, err := DecodeJSON(data)
	return obj, append(strict, more...), err
}
