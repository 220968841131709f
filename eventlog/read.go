package eventlog

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// directMax is the longest range that is read by direct gets instead of a consumer.
const directMax = 64

// Range hands the entries from..to, both included, to fn in order and in batches, each
// contiguous with the one before. It fails with a *TrimmedError if the log begins above from,
// also when a trim overtakes the reading; with ErrNotYet if the log does not reach to; with a
// *DamageError at a gap; and with fn's error, which ends it. fn may keep the entries.
func (l *Log) Range(ctx context.Context, from, to uint64, fn func([]Entry) error) error {
	if from > to {
		return nil
	}
	from = max(from, 1)
	if err := l.readable(from); err != nil {
		return err
	}
	if to > l.last.Load() {
		if _, err := l.Info(ctx); err != nil {
			return err
		}
		if last := l.last.Load(); to > last {
			return fmt.Errorf("%w: %d, the log ends at %d", ErrNotYet, to, last)
		}
		if err := l.readable(from); err != nil {
			return err
		}
	}
	if l.direct && to-from < directMax {
		next, err := l.readDirect(ctx, from, to, fn)
		if err != nil || next > to {
			return err
		}
		from = next
	}
	_, err := l.read(ctx, from, to, fn)
	return err
}

// readDirect reads a short range with one request. It returns early, without an error, where
// the answer stops being contiguous: the replica may lag behind, or the answer was cut short.
func (l *Log) readDirect(ctx context.Context, from, to uint64, fn func([]Entry) error) (next uint64, err error) {
	n := int(to - from + 1)
	sub, err := l.rc.SubscribeSync(nats.NewInbox())
	if err != nil {
		return from, l.readError(fmt.Errorf("%w: %w", ErrUnavailable, err))
	}
	defer sub.Unsubscribe()
	request := fmt.Appendf(nil, `{"seq":%d,"batch":%d,"max_bytes":%d}`, from, n, readBytes)
	if err := l.rc.PublishRequest("$JS.API.DIRECT.GET."+l.cfg.Stream, sub.Subject, request); err != nil {
		return from, l.readError(fmt.Errorf("%w: %w", ErrUnavailable, err))
	}
	batch := make([]Entry, 0, n)
	wait, cancel := context.WithTimeout(ctx, requestWait)
	defer cancel()
	for len(batch) < n {
		m, err := sub.NextMsgWithContext(wait)
		if err != nil {
			if ctx.Err() != nil {
				return from, ctx.Err()
			}
			break
		}
		if m.Header.Get("Status") != "" {
			break
		}
		e, err := directEntry(m, from+uint64(len(batch)))
		if errors.Is(err, errMissing) {
			break
		}
		if err != nil {
			return from, err
		}
		batch = append(batch, e)
	}
	if len(batch) == 0 {
		return from, nil
	}
	if err := fn(batch); err != nil {
		return from, err
	}
	return from + uint64(len(batch)), nil
}
