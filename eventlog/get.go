package eventlog

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/textproto"
	"strconv"

	"github.com/nats-io/nats.go"
)

// getRequest asks for one stored message: by sequence, the last for a subject, or the first for
// a subject from a sequence on.
type getRequest struct {
	Seq     uint64 `json:"seq,omitempty"`
	LastFor string `json:"last_by_subj,omitempty"`
	NextFor string `json:"next_by_subj,omitempty"`
}

// storedMessage is a message as the stream's leader answers it.
type storedMessage struct {
	Subject string `json:"subject"`
	Seq     uint64 `json:"seq"`
	Header  []byte `json:"hdrs"`
	Data    []byte `json:"data"`
}

// id returns the id of the append that wrote the message.
func (m *storedMessage) id() string {
	r := textproto.NewReader(bufio.NewReader(bytes.NewReader(m.Header)))
	if _, err := r.ReadLine(); err != nil {
		return ""
	}
	h, err := r.ReadMIMEHeader()
	if err != nil && len(h) == 0 {
		return ""
	}
	if id := h.Get(embeddedIDHeader); id != "" {
		return id
	}
	return h.Get(nats.MsgIdHdr)
}

// load asks the stream's leader for a message; nil if there is none. Direct gets are answered
// by any replica and cannot be trusted with what was written last.
func (l *Log) load(ctx context.Context, req getRequest) (*storedMessage, error) {
	ctx, cancel := withWait(ctx)
	defer cancel()
	body, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("eventlog: get: %w", err)
	}
	r, err := l.rc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+l.cfg.Stream, body)
	if err != nil {
		return nil, l.readError(fmt.Errorf("%w: get: %w", ErrUnavailable, err))
	}
	var answer struct {
		Message *storedMessage `json:"message"`
		Error   *struct {
			ErrCode     int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(r.Data, &answer); err != nil {
		return nil, fmt.Errorf("eventlog: get: %w", err)
	}
	switch {
	case answer.Error == nil && answer.Message != nil:
		return answer.Message, nil
	case answer.Error != nil && answer.Error.ErrCode == codeNotFound:
		return nil, nil
	case answer.Error != nil:
		return nil, fmt.Errorf("%w: get: %s (%d)", ErrUnavailable, answer.Error.Description, answer.Error.ErrCode)
	}
	return nil, fmt.Errorf("eventlog: get: empty answer")
}

// Get returns one entry. It fails with a *TrimmedError below First, ErrNotYet above Last, and
// with a *DamageError if the record is not where it must be.
func (l *Log) Get(ctx context.Context, seq uint64) (Entry, error) {
	if err := l.readable(seq); err != nil {
		return Entry{}, err
	}
	if l.direct {
		e, err := l.getDirect(ctx, seq)
		if err == nil || !errors.Is(err, errMissing) {
			return e, err
		}
	}
	m, err := l.load(ctx, getRequest{Seq: seq})
	if err != nil {
		return Entry{}, err
	}
	if m == nil {
		return Entry{}, l.missing(ctx, seq)
	}
	return decodeEntry(m.Subject, m.Seq, m.Data)
}

// errMissing: the server that answered has no such message.
var errMissing = errors.New("eventlog: no such message")

func (l *Log) getDirect(ctx context.Context, seq uint64) (Entry, error) {
	ctx, cancel := withWait(ctx)
	defer cancel()
	m, err := l.rc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+l.cfg.Stream, fmt.Appendf(nil, `{"seq":%d}`, seq))
	if errors.Is(err, nats.ErrNoResponders) {
		return Entry{}, errMissing
	}
	if err != nil {
		return Entry{}, l.readError(fmt.Errorf("%w: get %d: %w", ErrUnavailable, seq, err))
	}
	if m.Header.Get("Status") != "" {
		return Entry{}, errMissing
	}
	return directEntry(m, seq)
}

// directEntry decodes the answer to a direct get, which tells subject and sequence in headers.
func directEntry(m *nats.Msg, want uint64) (Entry, error) {
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return Entry{}, fmt.Errorf("eventlog: get %d: bad sequence in the answer: %w", want, err)
	}
	if seq != want {
		return Entry{}, errMissing
	}
	return decodeEntry(m.Header.Get("Nats-Subject"), seq, m.Data)
}

func decodeEntry(subject string, seq uint64, data []byte) (Entry, error) {
	key, err := ParseSubject(subject)
	if err != nil {
		return Entry{}, fmt.Errorf("record %d: %w", seq, err)
	}
	rec, err := Decode(data)
	if err != nil {
		return Entry{}, fmt.Errorf("record %d (%s): %w", seq, subject, err)
	}
	return Entry{Seq: seq, Key: key, Record: rec, Size: len(subject) + len(data) + entryOverhead}, nil
}

// readable refuses what is known to be out of reach.
func (l *Log) readable(seq uint64) error {
	select {
	case <-l.done:
		return ErrClosed
	default:
	}
	if first := l.first.Load(); seq < first {
		return &TrimmedError{Want: seq, First: first}
	}
	if l.emb != nil && seq > l.last.Load() {
		return fmt.Errorf("%w: %d, the log ends at %d", ErrNotYet, seq, l.last.Load())
	}
	return nil
}

// missing tells why a record is not there: trimmed, not written yet, or lost.
func (l *Log) missing(ctx context.Context, seq uint64) error {
	info, err := l.Info(ctx)
	if err != nil {
		return err
	}
	if seq < info.First {
		return &TrimmedError{Want: seq, First: info.First}
	}
	if seq > info.Last && (l.emb == nil || seq > l.last.Load()) {
		return fmt.Errorf("%w: %d, the log ends at %d", ErrNotYet, seq, info.Last)
	}
	err = &DamageError{Seq: seq, What: fmt.Sprintf("the record is missing, the log holds %d to %d", info.First, info.Last), Hint: l.hint()}
	l.fail(err)
	return err
}
