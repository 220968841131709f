package kinds

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	sigsjson "sigs.k8s.io/json"
)

// ProtobufType is the media type of the protobuf form.
const ProtobufType = "application/vnd.kubernetes.protobuf"

// ErrNoProtobuf is returned for kinds that have no protobuf form: custom ones,
// and those whose Go type has none.
var ErrNoProtobuf = errors.New("the kind has no protobuf form")

// protobufPrefix comes before the envelope of every protobuf body.
var protobufPrefix = [...]byte{'k', '8', 's', 0}

// message is what the Go types of built-in kinds are.
type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// HasProtobuf tells whether the kind has a protobuf form.
func (k *Kind) HasProtobuf() bool {
	return k.rules.typ != nil && reflect.PointerTo(k.rules.typ).Implements(reflect.TypeFor[message]())
}

func (k *Kind) newMessage() (message, error) {
	if !k.HasProtobuf() {
		return nil, fmt.Errorf("%s: %w", k.Kind, ErrNoProtobuf)
	}
	m, _ := reflect.New(k.rules.typ).Interface().(message)
	return m, nil
}

// FromProtobuf decodes a protobuf body, envelope and all, into what DecodeJSON
// makes of the same object's JSON. apiVersion and kind are those that the
// envelope names, if it does. A body of DeleteOptions is decoded for every
// kind. The errors but ErrNoProtobuf are the client's fault.
func (k *Kind) FromProtobuf(body []byte) (map[string]any, error) {
	envelope, err := openEnvelope(body)
	var m message = &metav1.DeleteOptions{}
	if err != nil || envelope.Kind != "DeleteOptions" {
		var none error
		if m, none = k.newMessage(); none != nil {
			return nil, none
		}
	}
	if err != nil {
		return nil, err
	}
	if err := m.Unmarshal(envelope.Raw); err != nil {
		return nil, fmt.Errorf("decode protobuf of a %s: %w", k.Kind, err)
	}
	data, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("decode protobuf of a %s: %w", k.Kind, err)
	}
	obj, _, err := DecodeJSON(data)
	if err != nil {
		return nil, fmt.Errorf("decode protobuf of a %s: %w", k.Kind, err)
	}
	for name, v := range map[string]string{"apiVersion": envelope.APIVersion, "kind": envelope.Kind} {
		if v != "" {
			obj[name] = v
		}
	}
	return obj, nil
}

func openEnvelope(body []byte) (*runtime.Unknown, error) {
	rest, ok := bytes.CutPrefix(body, protobufPrefix[:])
	if !ok {
		return nil, errors.New("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
	}
	envelope := &runtime.Unknown{}
	if err := envelope.Unmarshal(rest); err != nil {
		return nil, fmt.Errorf("decode protobuf envelope: %w", err)
	}
	return envelope, nil
}

// ToProtobuf returns the protobuf body of an object of the kind, given as JSON
// in the kind's own version.
func (k *Kind) ToProtobuf(objJSON []byte) ([]byte, error) {
	raw, err := k.ProtobufMessage(objJSON)
	if err != nil {
		return nil, err
	}
	return ProtobufEnvelope(k.APIVersion, k.Kind, raw)
}

// ProtobufMessage returns the object alone, as it is within a list.
func (k *Kind) ProtobufMessage(objJSON []byte) ([]byte, error) {
	m, err := k.newMessage()
	if err != nil {
		return nil, err
	}
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(objJSON, m); err != nil {
		return nil, fmt.Errorf("protobuf of a %s: %w", k.Kind, err)
	}
	raw, err := m.Marshal()
	if err != nil {
		return nil, fmt.Errorf("protobuf of a %s: %w", k.Kind, err)
	}
	return raw, nil
}

// ProtobufEnvelope wraps a message of any kind into a body.
func ProtobufEnvelope(apiVersion, kind string, raw []byte) ([]byte, error) {
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}
	out := make([]byte, len(protobufPrefix)+envelope.Size())
	copy(out, protobufPrefix[:])
	if _, err := envelope.MarshalTo(out[len(protobufPrefix):]); err != nil {
		return nil, fmt.Errorf("protobuf of a %s: %w", kind, err)
	}
	return out, nil
}

// ProtobufList returns the body of a list of messages, of which each is what
// ProtobufMessage gave. All lists have their metadata in field 1 and their
// items in field 2.
func (k *Kind) ProtobufList(meta metav1.ListMeta, items [][]byte) ([]byte, error) {
	const metaTag, itemTag = 1<<3 | 2, 2<<3 | 2
	head, err := meta.Marshal()
	if err != nil {
		return nil, fmt.Errorf("protobuf of a %s: %w", k.ListKind, err)
	}
	size := len(head) + binary.MaxVarintLen64 + 1
	for _, item := range items {
		size += len(item) + binary.MaxVarintLen64 + 1
	}
	raw := make([]byte, 0, size)
	raw = append(binary.AppendUvarint(append(raw, metaTag), uint64(len(head))), head...)
	for _, item := range items {
		raw = append(binary.AppendUvarint(append(raw, itemTag), uint64(len(item))), item...)
	}
	return ProtobufEnvelope(k.APIVersion, k.ListKind, raw)
}
