package eventlog

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Keys of the stream's metadata.
const (
	metaFormat = "kronicle.format"
	metaEpoch  = "kronicle.epoch"
)

// dedupeWindow is the stream's window for duplicate message ids. Only an external log sends
// message ids, see Log.idHeader.
const dedupeWindow = 2 * time.Minute

// streamConfig is the stream as the log creates it.
func streamConfig(cfg Config, epoch string, external bool) jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name:        cfg.Stream,
		Description: "kronicle event log",
		Subjects:    []string{subjectAll},
		Retention:   jetstream.LimitsPolicy,
		Storage:     jetstream.FileStorage,
		MaxMsgs:     -1, MaxBytes: -1, MaxMsgsPerSubject: -1, MaxMsgSize: -1,
		Discard:            jetstream.DiscardNew,
		Replicas:           1,
		Duplicates:         dedupeWindow,
		DenyDelete:         true,
		AllowDirect:        true,
		AllowAtomicPublish: true,
		Metadata:           map[string]string{metaFormat: strconv.Itoa(recordFormat), metaEpoch: epoch},
	}
	if external {
		c.Replicas = cfg.Replicas
		c.AllowAtomicPublish = cfg.Replicas == 1
	}
	if cfg.MaxBytes > 0 {
		c.MaxBytes = cfg.MaxBytes
	}
	return c
}

// checkSettings refuses a stream whose settings would lose data, or on which the log cannot
// keep its promises.
func checkSettings(c jetstream.StreamConfig, replicas int) error {
	bad := func(setting, why string, args ...any) error {
		return &SettingsError{Stream: c.Name, Setting: setting, Why: fmt.Sprintf(why, args...)}
	}
	switch {
	case len(c.Subjects) != 1 || c.Subjects[0] != subjectAll:
		return bad("Subjects", "is %q, want [%q]", c.Subjects, subjectAll)
	case c.Retention != jetstream.LimitsPolicy:
		return bad("Retention", "is %s, which drops records that were read; want Limits", c.Retention)
	case c.Storage != jetstream.FileStorage:
		return bad("Storage", "is %s, which a restart loses; want File", c.Storage)
	case c.MaxAge != 0:
		return bad("MaxAge", "is %s and drops records no snapshot may hold; want 0", c.MaxAge)
	case c.MaxMsgs > 0:
		return bad("MaxMsgs", "is %d; want no limit", c.MaxMsgs)
	case c.MaxMsgsPerSubject > 0:
		return bad("MaxMsgsPerSubject", "is %d and drops the history of objects; want no limit", c.MaxMsgsPerSubject)
	case c.MaxBytes > 0 && c.Discard != jetstream.DiscardNew:
		return bad("Discard", "is old with MaxBytes %d, which drops the oldest records; want discard new", c.MaxBytes)
	case c.AllowMsgTTL:
		return bad("AllowMsgTTL", "lets single records expire; want false")
	case c.SubjectDeleteMarkerTTL != 0:
		return bad("SubjectDeleteMarkerTTL", "is %s; want 0", c.SubjectDeleteMarkerTTL)
	case c.AllowRollup:
		return bad("AllowRollup", "lets one message drop others; want false")
	case c.AllowMsgCounter:
		return bad("AllowMsgCounter", "changes the body of messages; want false")
	case c.AllowMsgSchedules:
		return bad("AllowMsgSchedules", "lets the server add messages of its own; want false")
	case c.NoAck:
		return bad("NoAck", "is set, so that no append is ever acknowledged; want false")
	case c.Sealed:
		return bad("Sealed", "is set, so that nothing can be appended; want false")
	case c.DenyPurge:
		return bad("DenyPurge", "is set, so that the log cannot be trimmed; want false")
	case c.Mirror != nil || len(c.Sources) > 0:
		return bad("Mirror/Sources", "feed the stream from elsewhere; want none")
	case c.SubjectTransform != nil:
		return bad("SubjectTransform", "changes subjects; want none")
	case c.PersistMode != jetstream.DefaultPersistMode:
		return bad("PersistMode", "is %v, which acknowledges before writing; want default", c.PersistMode)
	case c.Replicas < replicas:
		return bad("Replicas", "is %d, want at least %d (nats stream edit %s --replicas %d)", c.Replicas, replicas, c.Name, replicas)
	}
	return nil
}

// prepareStream finds or creates the stream, checks it, and sees to its genesis.
func (l *Log) prepareStream(ctx context.Context) error {
	s, err := l.findStream(ctx)
	if err != nil {
		return err
	}
	c := s.CachedInfo().Config
	replicas := 1
	if l.emb == nil {
		replicas = l.cfg.Replicas
	}
	if err := checkSettings(c, replicas); err != nil {
		return err
	}
	if f := c.Metadata[metaFormat]; f != "" && f != strconv.Itoa(recordFormat) {
		return fmt.Errorf("eventlog: stream %s has record format %s, this program knows %d", c.Name, f, recordFormat)
	}
	if l.emb != nil {
		want := int64(-1)
		if l.cfg.MaxBytes > 0 {
			want = l.cfg.MaxBytes
		}
		if c.MaxBytes != want {
			c.MaxBytes, c.Discard = want, jetstream.DiscardNew
			if s, err = l.js.UpdateStream(ctx, c); err != nil {
				return fmt.Errorf("eventlog: set MaxBytes of stream %s: %w", c.Name, err)
			}
		}
	}
	l.stream = s
	l.atomic = c.AllowAtomicPublish && c.Replicas == 1
	l.pipelined = !l.atomic
	l.direct = c.AllowDirect
	l.maxData = min(l.cfg.MaxRecordBytes, int(l.nc.MaxPayload())-headerRoom)
	if c.MaxMsgSize > 0 {
		l.maxData = min(l.maxData, int(c.MaxMsgSize)-headerRoom)
	}
	if err := l.prepareGenesis(ctx, c); err != nil {
		return err
	}
	return l.checkShape(ctx)
}

// findStream finds or creates the stream. An external server may be there before its JetStream
// is, and a cluster before its leader: they are waited for as long as ctx allows.
func (l *Log) findStream(ctx context.Context) (jetstream.Stream, error) {
	for {
		s, err := l.js.Stream(ctx, l.cfg.Stream)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			s, err = l.createStream(ctx)
		}
		switch {
		case err == nil:
			return s, nil
		case errors.Is(err, ErrEncryption) || errors.Is(err, ErrDamaged):
			return nil, err
		}
		var api *jetstream.APIError
		passing := errors.As(err, &api) && api.Code >= 500 ||
			errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded)
		if l.emb != nil || !passing || pause(ctx, retryPauseMax/5) != nil {
			return nil, fmt.Errorf("%w: stream %s: %w", ErrUnavailable, l.cfg.Stream, err)
		}
	}
}

// createStream creates the stream; when another server creates it at the same time, either
// one's is as good.
func (l *Log) createStream(ctx context.Context) (jetstream.Stream, error) {
	if l.emb != nil {
		there, err := isThere(l.emb.streamDir(l.cfg.Stream))
		if err != nil {
			return nil, err
		}
		if there {
			if len(l.cfg.EncryptionKey) > 0 {
				return nil, fmt.Errorf("%w: the server could not read the store: %s", ErrEncryption, l.emb.notes.last())
			}
			return nil, &DamageError{What: "the server could not recover the stream: " + l.emb.notes.last(), Hint: hintStore}
		}
	}
	s, err := l.js.CreateStream(ctx, streamConfig(l.cfg, newEpoch(), l.emb == nil))
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return l.js.Stream(ctx, l.cfg.Stream)
	}
	return s, err
}

func newEpoch() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// prepareGenesis writes the genesis record of an empty stream and learns the epoch. The genesis
// record decides; the metadata repeats it for when the record has been trimmed away.
func (l *Log) prepareGenesis(ctx context.Context, c jetstream.StreamConfig) error {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("%w: stream %s: %w", ErrUnavailable, c.Name, err)
	}
	epoch := c.Metadata[metaEpoch]
	if info.State.LastSeq == 0 {
		if epoch == "" {
			epoch = newEpoch()
		}
		if err := l.writeGenesis(ctx, epoch); err != nil {
			return err
		}
	}
	if info.State.FirstSeq > 1 {
		if epoch == "" {
			return &DamageError{Seq: info.State.FirstSeq, What: "the stream has neither its genesis record nor an epoch in its metadata", Hint: l.hint()}
		}
		l.epoch = epoch
		return nil
	}
	g, err := l.load(ctx, getRequest{Seq: 1})
	if err != nil {
		return fmt.Errorf("eventlog: genesis of stream %s: %w", c.Name, err)
	}
	if g == nil || g.Subject != genesisSubject {
		return &DamageError{Seq: 1, What: "the first record is not a genesis record", Hint: "the stream is not kronicle's, or " + l.hint()}
	}
	rec, err := Decode(g.Data)
	if err != nil {
		return fmt.Errorf("eventlog: genesis of stream %s: %w", c.Name, err)
	}
	l.epoch = rec.Epoch
	switch noted := c.Metadata[metaEpoch]; {
	case noted == rec.Epoch:
		return nil
	case noted != "" && info.State.LastSeq > 1:
		return &DamageError{Seq: 1, What: fmt.Sprintf("the genesis record has epoch %s, the metadata has %s", rec.Epoch, noted), Hint: l.hint()}
	}
	return l.writeEpoch(ctx)
}

// writeGenesis appends the genesis record to an empty stream unless another server was first.
func (l *Log) writeGenesis(ctx context.Context, epoch string) error {
	data, err := Encode(&Record{Op: OpGenesis, Epoch: epoch, Time: l.cfg.Now().UnixNano()})
	if err != nil {
		return err
	}
	_, err = l.js.PublishMsg(ctx, &nats.Msg{Subject: genesisSubject, Data: data}, jetstream.WithExpectLastSequence(0), jetstream.WithExpectLastSequencePerSubject(0))
	var api *jetstream.APIError
	if errors.As(err, &api) && (api.ErrorCode == codeWrongLast || api.ErrorCode == codeInFlight) {
		return l.awaitGenesis(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: genesis of stream %s: %w", ErrUnavailable, l.cfg.Stream, err)
	}
	return nil
}

// awaitGenesis waits until another server's genesis record can be read.
func (l *Log) awaitGenesis(ctx context.Context) error {
	for {
		m, err := l.load(ctx, getRequest{Seq: 1})
		if err != nil || m != nil {
			return err
		}
		if err := pause(ctx, retryPause); err != nil {
			return err
		}
	}
}

// writeEpoch notes the epoch in the metadata of a stream that an operator created.
func (l *Log) writeEpoch(ctx context.Context) error {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	c := info.Config
	if c.Metadata == nil {
		c.Metadata = map[string]string{}
	}
	c.Metadata[metaFormat], c.Metadata[metaEpoch] = strconv.Itoa(recordFormat), l.epoch
	if _, err := l.js.UpdateStream(ctx, c); err != nil {
		return fmt.Errorf("eventlog: note the epoch in the metadata of stream %s: %w", c.Name, err)
	}
	return nil
}

// checkShape refuses a store with records missing inside, and learns first and last.
func (l *Log) checkShape(ctx context.Context) error {
	info, err := l.Info(ctx)
	if err != nil {
		return err
	}
	want := info.Last + 1 - info.First
	if info.Deleted != 0 || info.Messages != want {
		d := &DamageError{What: fmt.Sprintf("records %d to %d should be %d, the store has %d (%d missing)", info.First, info.Last, want, info.Messages, info.Deleted), Hint: l.hint()}
		if s, err := l.stream.Info(ctx, jetstream.WithDeletedDetails(true)); err == nil && len(s.State.Deleted) > 0 {
			d.Seq = s.State.Deleted[0]
		}
		return d
	}
	if l.emb != nil {
		return l.emb.opened(info.First, info.Last, l.epoch)
	}
	return nil
}

func (l *Log) hint() string {
	if l.emb != nil {
		return hintStore
	}
	return hintShare
}
