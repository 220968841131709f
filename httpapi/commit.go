package httpapi

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/kinds"
	"github.com/kronicle/kronicle/projections"
)

// A mutation is the next state of an object, ready for the log.
type mutation struct {
	op     eventlog.Op
	name   string
	expect uint64 // sequence of the object's last record; 0: it does not exist
	data   []byte // canonical JSON without resourceVersion
	rvAt   int
	uid    string
}

// encode makes a mutation of an object. The log holds the storage version.
func (q *request) encode(op eventlog.Op, obj map[string]any, expect uint64) (mutation, error) {
	switch {
	case q.kind.Converts():
		q.kind.ToStorage(obj)
	case q.kind.Version != q.kind.StorageVersion:
		obj["apiVersion"] = storageAPIVersion(q.kind)
	}
	data, at, err := kinds.Encode(obj)
	if err != nil {
		return mutation{}, badRequest("%v", err)
	}
	if int64(len(data)) > q.s.cfg.MaxObjectBytes {
		return mutation{}, tooLarge("limit is " + strconv.FormatInt(q.s.cfg.MaxObjectBytes, 10))
	}
	meta := metaOf(obj)
	return mutation{op: op, name: str(meta, "name"), expect: expect, data: data, rvAt: at, uid: str(meta, "uid")}, nil
}

func storageAPIVersion(k *kinds.Kind) string {
	if k.Group == "" {
		return k.StorageVersion
	}
	return k.Group + "/" + k.StorageVersion
}

// commit appends a mutation, waits until the projections have applied it and gives
// the object as it is served. A dry run stops before the log: what is served then
// has the live object's version, or none.
func (q *request) commit(m mutation, o writeOptions) ([]byte, error) {
	rec := &eventlog.Record{Op: m.op, Object: m.data, RVAt: m.rvAt, UID: m.uid, Time: q.s.now().UnixNano(), Actor: q.actor(o)}
	q.dryRun = o.dryRun
	if o.dryRun {
		if m.expect == 0 {
			return m.data, nil
		}
		return rec.Served(m.expect, "", ""), nil
	}
	ctx := q.r.Context()
	key := eventlog.Key{Group: q.kind.StorageGroup, Resource: q.kind.Resource, Namespace: q.namespace, Name: m.name}
	seq, err := q.s.log.Append(ctx, key, m.expect, rec)
	q.s.noteSpace(err)
	if err != nil {
		return nil, err
	}
	q.wrote = true
	// The write has happened: only the server's own end keeps it from being applied.
	if err := q.s.store.Wait(context.WithoutCancel(ctx), seq); err != nil {
		return nil, errors.Join(eventlog.ErrUnknown, err)
	}
	if m.op != eventlog.OpDelete {
		if live, ok := q.s.store.Get(q.gr(), q.namespace, m.name); ok && live.RV() == seq {
			return live.JSON(), nil
		}
	}
	return rec.Served(seq, "", ""), nil
}

// actor is who makes this write, for the record.
func (q *request) actor(o writeOptions) eventlog.Actor {
	source, _, err := net.SplitHostPort(q.r.RemoteAddr)
	if err != nil {
		source = q.r.RemoteAddr
	}
	return eventlog.Actor{
		User: q.user, Groups: q.groups, UserAgent: q.r.UserAgent(), Source: source,
		Verb: q.verb, Subresource: q.subresource, FieldManager: managerOf(o.fieldManager, q.r.UserAgent()),
		RequestID: q.r.Header.Get("Audit-Id"),
	}
}

// unchanged tells whether the mutation is the stored state to the byte, but for the
// resourceVersion that is spliced into what is served.
func (m *mutation) unchanged(live *projections.Object) bool {
	data := live.JSON()
	splice := len(data) - len(m.data)
	return splice > 0 && bytes.Equal(data[:m.rvAt], m.data[:m.rvAt]) && bytes.Equal(data[m.rvAt+splice:], m.data[m.rvAt:])
}

// splitVersion takes the resourceVersion out of served bytes: what is left is what
// the log holds, and where the version belongs.
func splitVersion(data []byte) (bare []byte, at int) {
	v := gjson.GetBytes(data, "metadata.resourceVersion")
	at = v.Index - len(`"resourceVersion":`)
	end := v.Index + len(v.Raw) + 1 // the comma: uid follows in the canonical order
	bare = make([]byte, 0, len(data)-(end-at))
	bare = append(bare, data[:at]...)
	return append(bare, data[end:]...), at
}

// isConflict tells whether another write of the object came first.
func isConflict(err error) bool { return errors.Is(err, eventlog.ErrConflict) }

// noteSpace remembers whether the newest append found room, for /readyz: a store that
// is full must not be sent writes.
func (s *Server) noteSpace(err error) {
	full := errors.Is(err, eventlog.ErrFull)
	if full != s.full.Load() && (full || err == nil) {
		s.full.Store(full)
	}
}
