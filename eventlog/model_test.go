package eventlog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// model is what the log should add up to: per object its last live record.
type model struct {
	mu   sync.Mutex
	last map[Key]modelObject
}

type modelObject struct {
	seq     uint64
	deleted bool
	content string
}

// Random creates, updates, deletes and trims by several goroutines on few objects, with lost
// and delayed acks and a restart: what the log holds equals what the appends were told.
func TestRandomOperationsAddUpToTheModel(t *testing.T) {
	rng := newRand(t)
	cfg := Config{Dir: t.TempDir()}
	cfg.Faults.AckWait = 50 * time.Millisecond
	cfg.Faults.LoseAck = func(n uint64) bool { return n%97 == 5 }
	cfg.Faults.DelayAck = func(n uint64) time.Duration { return time.Duration(n%13/12) * 2 * time.Millisecond }
	m := &model{last: map[Key]modelObject{}}
	var followed *recorder
	for round := range 3 {
		l := open(t, cfg)
		if round == 0 {
			followed = follow(t, l, 1)
		}
		var wg sync.WaitGroup
		for w := range 12 {
			wg.Add(1)
			r := rand.New(rand.NewPCG(rng.Uint64(), 1))
			go func() {
				defer wg.Done()
				for i := range 60 {
					m.step(t, l, r, fmt.Sprintf("%d-%d-%d", round, w, i))
				}
			}()
		}
		wg.Wait()
		if round == 0 {
			wantContiguous(t, followed.awaitSeq(t, l.Last()), 1, l.Last())
		}
		m.compare(t, readAll(t, l), l.First())
		closeLog(t, l)
	}
}

// step does one random operation. It does not hold the model while it appends: two workers may
// pick one object, and then one of them must be told of a conflict.
func (m *model) step(t *testing.T, l *Log, r *rand.Rand, content string) {
	if r.IntN(100) == 0 {
		if err := l.Trim(testContext(t), l.First()+r.Uint64N(l.Last()-l.First()+1)/2); err != nil {
			t.Errorf("trim: %v", err)
		}
		return
	}
	k := key(fmt.Sprint("o", r.IntN(20)))
	m.mu.Lock()
	o := m.last[k]
	m.mu.Unlock()
	op, expect := OpUpdate, o.seq
	switch {
	case o.seq == 0 || o.deleted:
		op, expect = OpCreate, 0
	case r.IntN(5) == 0:
		op = OpDelete
	}
	seq, err := l.Append(testContext(t), k, expect, record(op, content))
	if err != nil {
		if !errors.Is(err, ErrConflict) {
			t.Errorf("%s %s expecting %d: %v", op, k, expect, err)
		}
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last[k].seq < seq {
		m.last[k] = modelObject{seq, op == OpDelete, content}
	}
}

func (m *model) compare(t *testing.T, es []Entry, first uint64) {
	t.Helper()
	got := map[Key]modelObject{}
	for _, e := range es {
		if e.Record.Op > OpDelete {
			continue
		}
		if o, ok := got[e.Key]; ok {
			want := o.seq
			if o.deleted {
				want = 0
			}
			if e.Record.Prev != want {
				t.Errorf("record %d of %s has previous %d, want %d", e.Seq, e.Key, e.Record.Prev, want)
			}
		}
		got[e.Key] = modelObject{e.Seq, e.Record.Op == OpDelete, e.Record.UID[2:]}
	}
	for k, want := range m.last {
		if o := got[k]; want.seq >= first && o != want {
			t.Errorf("%s is %+v, the model says %+v", k, o, want)
		}
	}
}
