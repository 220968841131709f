package kinds

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ProtobufType is the media type of the protobuf encoding of built-in kinds.
const ProtobufType = "application/vnd.kubernetes.protobuf"

// protobufMagic is in front of every object (apimachinery/pkg/runtime/serializer/protobuf).
var protobufMagic = []byte{'k', '8', 's', 0}

// ErrNoProtobuf tells that a kind has no protobuf encoding: custom resources do not.
var ErrNoProtobuf = errors.New("the kind has no protobuf encoding")

// FromProtobuf decodes an object of a built-in kind, or options of the meta API,
// from the Kubernetes protobuf encoding: the envelope runtime.Unknown around the
// message of the Go type.
func (k *Kind) FromProtobuf(body []byte) (map[string]any, error) {
	if k.rules.typ == nil {
		return nil, ErrNoProtobuf
	}
	raw, ok := bytes.CutPrefix(body, protobufMagic)
	if !ok {
		return nil, errors.New("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
	}
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(raw); err != nil {
		return nil, fmt.Errorf("protobuf envelope: %w", err)
	}
	typ := k.rules.typ
	if envelope.Kind == "DeleteOptions" {
		typ = reflect.TypeFor[metav1.DeleteOptions]()
	}
	value := reflect.New(typ).Interface()
	message, ok := value.(interface{ Unmarshal([]byte) error })
	if !ok {
		return nil, ErrNoProtobuf
	}
	if err := message.Unmarshal(envelope.Raw); err != nil {
		return nil, fmt.Errorf("protobuf message of %s: %w", envelope.Kind, err)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("protobuf message of %s: %w", envelope.Kind, err)
	}
	obj, _, err := DecodeJSON(text)
	if err != nil {
		return nil, fmt.Errorf("protobuf message of %s: %w", envelope.Kind, err)
	}
	obj["apiVersion"], obj["kind"] = envelope.APIVersion, envelope.Kind
	return obj, nil
}
