package eventlog

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The contract of the log, on every backend.
func TestContract(t *testing.T) {
	t.Run("embedded", func(t *testing.T) { contract(t, &backend{name: "embedded", replicas: 1}) })
	t.Run("external single server", func(t *testing.T) {
		srv := startSingle(t, t.TempDir(), -1)
		t.Cleanup(func() { stopServer(srv) })
		contract(t, &backend{name: "single", url: srv.ClientURL(), replicas: 1})
	})
	t.Run("external three-node cluster", func(t *testing.T) {
		urls, _ := startCluster(t)
		contract(t, &backend{name: "cluster", url: urls, replicas: 3})
	})
}

func contract(t *testing.T, b *backend) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *backend)
	}{
		{"a fresh log has its genesis record and an epoch that stays", testGenesis},
		{"preconditions decide", testPreconditions},
		{"a create goes over a tombstone the log does not remember", testTombstone},
		{"in-flight conflicts are retried", testInFlight},
		{"a lost ack is resolved as success", testLostAck},
		{"lost acks of a batch are resolved as success", testLostBatchAck},
		{"no ack at all is unknown", testUnknown},
		{"a caller that leaves gets unknown and the append goes on", testLeave},
		{"a batch with a bad member refuses only that", testBatchBadMember},
		{"the same object in a burst is serialised", testBurst},
		{"trimmed records are told, and updates go over them", testTrim},
		{"a reader overtaken by a trim is told or has it all", testTrimOvertakes},
		{"oversize records are refused", testOversize},
		{"strange names are stored as they are", testStrange},
		{"followers get everything once, past and live", testFollow},
		{"short and long ranges agree", testRanges},
		{"reading leaves no consumers behind", testNoLeaks},
		{"a barrier covers what was acknowledged", testBarrier},
		{"a stopped reader stops at once", testStopReading},
		{"closed logs say so", testClosed},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, b) })
	}
}

func testGenesis(t *testing.T, b *backend) {
	cfg := b.config(t)
	l := open(t, cfg)
	if l.First() != 1 || l.Last() != 1 || l.Epoch() == "" {
		t.Fatalf("first %d, last %d, epoch %q", l.First(), l.Last(), l.Epoch())
	}
	e, err := l.Get(testContext(t), 1)
	if err != nil || e.Record.Op != OpGenesis || e.Record.Epoch != l.Epoch() || e.Key != (Key{}) {
		t.Fatalf("genesis %+v, %v", e, err)
	}
	epoch := l.Epoch()
	fill(t, l, "a", 20)
	if err := l.Trim(testContext(t), 10); err != nil {
		t.Fatal(err)
	}
	closeLog(t, l)
	l = open(t, cfg)
	if l.Epoch() != epoch || l.First() != 10 || l.Last() != 21 {
		t.Fatalf("epoch %s, first %d, last %d, want %s, 10, 21", l.Epoch(), l.First(), l.Last(), epoch)
	}
}

func wantConflict(t testing.TB, err error, expected, last uint64) {
	t.Helper()
	var c *ConflictError
	if !errors.As(err, &c) || !errors.Is(err, ErrConflict) || c.Expected != expected || c.Last != last {
		t.Fatalf("got %v, want a conflict with %d expecting %d", err, last, expected)
	}
}

func testPreconditions(t *testing.T, b *backend) {
	cfg := b.config(t)
	for _, remembered := range []bool{true, false} {
		l := open(t, cfg)
		fresh := func() {
			if !remembered {
				l.mu.Lock()
				l.recent = recent{}
				l.mu.Unlock()
			}
		}
		k := key(fmt.Sprint("x", remembered))
		try := func(expect uint64, op Op) (uint64, error) {
			fresh()
			return l.Append(testContext(t), k, expect, record(op, "c"))
		}
		_, err := try(l.Last(), OpUpdate)
		if !errors.Is(err, ErrConflict) {
			t.Fatalf("update of nothing: %v", err)
		}
		s1 := mustAppend(t, l, k, 0, record(OpCreate, "1"))
		_, err = try(0, OpCreate)
		wantConflict(t, err, 0, s1)
		_, err = try(s1-1, OpUpdate)
		wantConflict(t, err, s1-1, s1)
		s2, err := try(s1, OpUpdate)
		if err != nil || s2 != s1+1 {
			t.Fatalf("update: %d, %v", s2, err)
		}
		_, err = try(s1, OpDelete)
		wantConflict(t, err, s1, s2)
		s3, err := try(s2, OpDelete)
		if err != nil {
			t.Fatal(err)
		}
		s4, err := try(0, OpCreate)
		if err != nil {
			t.Fatalf("create over a tombstone: %v", err)
		}
		var prevs []uint64
		for _, s := range []uint64{s1, s2, s3, s4} {
			e, err := l.Get(testContext(t), s)
			if err != nil {
				t.Fatal(err)
			}
			prevs = append(prevs, e.Record.Prev)
		}
		if want := []uint64{0, s1, s2, 0}; !reflect.DeepEqual(prevs, want) {
			t.Fatalf("previous sequences %d, want %d", prevs, want)
		}
		closeLog(t, l)
	}
}

func testTombstone(t *testing.T, b *backend) {
	cfg := b.config(t)
	l := open(t, cfg)
	s := mustAppend(t, l, key("x"), 0, record(OpCreate, "1"))
	mustAppend(t, l, key("x"), s, record(OpDelete, "1"))
	closeLog(t, l)
	l = open(t, cfg)
	s = mustAppend(t, l, key("x"), 0, record(OpCreate, "2"))
	_, err := l.Append(testContext(t), key("x"), 0, record(OpCreate, "3"))
	wantConflict(t, err, 0, s)
}

func testInFlight(t *testing.T, b *backend) {
	cfg := b.config(t)
	for _, code := range []int{codeInFlight, codeDuplicateFly, codeUnavailable} {
		cfg.Faults.Ack = func(n uint64, ack []byte) []byte {
			if n == 2 {
				return fmt.Appendf(nil, `{"error":{"code":400,"err_code":%d,"description":"injected"},"seq":0}`, code)
			}
			return ack
		}
		l := open(t, cfg)
		name := fmt.Sprint("x", code)
		mustAppend(t, l, key(name+"a"), 0, record(OpCreate, "1"))
		// The ack is replaced although the record was written: the retry finds it.
		seq := mustAppend(t, l, key(name), 0, record(OpCreate, "1"))
		if n := l.Stats().Resends; n == 0 {
			t.Fatalf("code %d: no resend", code)
		}
		if e, err := l.Get(testContext(t), seq); err != nil || e.Key != key(name) {
			t.Fatalf("code %d: %+v, %v", code, e, err)
		}
		closeLog(t, l)
	}
}

func testLostAck(t *testing.T, b *backend) {
	cfg := b.config(t)
	var lose atomic.Bool
	cfg.Faults.AckWait = 50 * time.Millisecond
	cfg.Faults.LoseAck = func(uint64) bool { return lose.CompareAndSwap(true, false) }
	l := open(t, cfg)
	r := follow(t, l, 1)
	s1 := mustAppend(t, l, key("x"), 0, record(OpCreate, "1"))
	for i := range 3 {
		lose.Store(true)
		s2 := mustAppend(t, l, key("x"), s1, record(OpUpdate, fmt.Sprint(i)))
		if s2 != s1+1 {
			t.Fatalf("sequence %d after %d", s2, s1)
		}
		s1 = s2
	}
	lose.Store(true)
	if _, err := l.Append(testContext(t), key("x"), 0, record(OpCreate, "no")); !errors.Is(err, ErrConflict) {
		t.Fatalf("conflict behind a lost ack: %v", err)
	}
	lose.Store(false)
	if l.Stats().Resends == 0 {
		t.Fatal("nothing was resent")
	}
	last := mustAppend(t, l, key("y"), 0, record(OpCreate, "1"))
	wantContiguous(t, r.awaitSeq(t, last), 1, last)
}

func testLostBatchAck(t *testing.T, b *backend) {
	cfg := b.config(t)
	cfg.Faults.AckWait = 50 * time.Millisecond
	cfg.Faults.LoseAck = func(n uint64) bool { return n >= 2 && n <= 4 }
	l := open(t, cfg)
	r := follow(t, l, 1)
	mustAppend(t, l, key("first"), 0, record(OpCreate, "1"))
	fill(t, l, "a", 60)
	if l.Last() != 62 {
		t.Fatalf("last %d, want 62", l.Last())
	}
	wantContiguous(t, r.awaitSeq(t, 62), 1, 62)
	readAll(t, l)
}

func testUnknown(t *testing.T, b *backend) {
	cfg := b.config(t)
	cfg.Faults.AckWait, cfg.Faults.CommitTimeout = 20*time.Millisecond, 100*time.Millisecond
	cfg.Faults.LoseAck = func(uint64) bool { return true }
	l := open(t, cfg)
	if _, err := l.Append(testContext(t), key("x"), 0, record(OpCreate, "1")); !errors.Is(err, ErrUnknown) {
		t.Fatalf("got %v, want ErrUnknown", err)
	}
	if b.url != "" {
		return
	}
	select {
	case <-l.Failed():
	default:
		t.Fatal("an embedded log whose store does not answer has not failed")
	}
	if _, err := l.Append(testContext(t), key("y"), 0, record(OpCreate, "1")); !errors.Is(err, ErrFailed) {
		t.Fatalf("got %v, want ErrFailed", err)
	}
	if _, err := l.Get(testContext(t), 1); err != nil {
		t.Fatalf("a failed log does not read: %v", err)
	}
}

func testLeave(t *testing.T, b *backend) {
	cfg := b.config(t)
	var hold atomic.Bool
	cfg.Faults.DelayAck = func(uint64) time.Duration {
		if hold.Load() {
			return 100 * time.Millisecond
		}
		return 0
	}
	l := open(t, cfg)
	r := follow(t, l, 1)
	hold.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := l.Append(ctx, key("x"), 0, record(OpCreate, "1"))
	if !errors.Is(err, ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	r.awaitSeq(t, 2)
	hold.Store(false)
	mustAppend(t, l, key("x"), 2, record(OpUpdate, "2"))
	done, stop := context.WithCancel(context.Background())
	stop()
	if _, err := l.Append(done, key("y"), 0, record(OpCreate, "1")); err != context.Canceled {
		t.Fatalf("got %v, want context.Canceled alone", err)
	}
}

func testBatchBadMember(t *testing.T, b *backend) {
	cfg := b.config(t)
	var acks atomic.Int64
	cfg.Faults.DelayAck = func(n uint64) time.Duration {
		if acks.Add(1) == 1 {
			return 100 * time.Millisecond // so that the rest gathers
		}
		return 0
	}
	l := open(t, cfg)
	old := mustAppend(t, l, key("bad"), 0, record(OpCreate, "1"))
	l.mu.Lock()
	l.recent = recent{}
	l.mu.Unlock()
	acks.Store(0)
	var wg sync.WaitGroup
	var bad atomic.Value
	for i := range 41 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			name := fmt.Sprint("good", i)
			if i == 20 {
				name = "bad"
			}
			if _, err := l.Append(testContext(t), key(name), 0, record(OpCreate, name)); err != nil {
				if i != 20 {
					t.Errorf("%s: %v", name, err)
				}
				bad.Store(err)
			}
		}()
	}
	wg.Wait()
	err, _ := bad.Load().(error)
	wantConflict(t, err, 0, old)
	if l.atomic && l.Stats().Batches == 0 {
		t.Error("no batch was sent")
	}
	if got := len(readAll(t, l)); got != 42 {
		t.Errorf("%d records, want 42", got)
	}
}

func testBurst(t *testing.T, b *backend) {
	l := open(t, b.config(t))
	s := mustAppend(t, l, key("x"), 0, record(OpCreate, "1"))
	var wins atomic.Int64
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			_, err := l.Append(testContext(t), key("x"), s, record(OpUpdate, fmt.Sprint(i)))
			if err == nil {
				wins.Add(1)
			} else if !errors.Is(err, ErrConflict) {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if wins.Load() != 1 {
		t.Errorf("%d of 30 updates of one state won", wins.Load())
	}
}

func testTrim(t *testing.T, b *backend) {
	cfg := b.config(t)
	l := open(t, cfg)
	s := mustAppend(t, l, key("x"), 0, record(OpCreate, "1"))
	g := mustAppend(t, l, key("gone"), 0, record(OpCreate, "1"))
	mustAppend(t, l, key("gone"), g, record(OpDelete, "1"))
	fill(t, l, "a", 100)
	ctx := testContext(t)
	if err := l.Trim(ctx, 50); err != nil {
		t.Fatal(err)
	}
	if l.First() != 50 {
		t.Fatalf("first %d, want 50", l.First())
	}
	var te *TrimmedError
	for name, err := range map[string]error{
		"get":         func() error { _, err := l.Get(ctx, 49); return err }(),
		"short range": l.Range(ctx, 49, 60, func([]Entry) error { return nil }),
		"long range":  l.Range(ctx, 1, 104, func([]Entry) error { return nil }),
		"follow":      l.Follow(ctx, 49, func([]Entry) error { return nil }),
	} {
		if !errors.As(err, &te) || !errors.Is(err, ErrTrimmed) || te.First != 50 {
			t.Errorf("%s: %v", name, err)
		}
	}
	readAll(t, l)
	if _, err := l.Append(ctx, key("x"), s-1, record(OpUpdate, "no")); !errors.Is(err, ErrConflict) {
		t.Errorf("stale update of a trimmed record that is remembered: %v", err)
	}
	for range 2 {
		if _, err := l.Append(ctx, key("x"), l.Last(), record(OpUpdate, "no")); !errors.Is(err, ErrConflict) {
			t.Errorf("update expecting another record: %v", err)
		}
		s = mustAppend(t, l, key("x"), s, record(OpUpdate, "2"))
		g = mustAppend(t, l, key("gone"), 0, record(OpCreate, "2"))
		g = mustAppend(t, l, key("gone"), g, record(OpDelete, "2"))
		if err := l.Trim(ctx, g+100); err != nil || l.First() != g {
			t.Fatalf("first %d, want %d: the newest record stays; %v", l.First(), g, err)
		}
		closeLog(t, l)
		l = open(t, cfg)
	}
}

func testTrimOvertakes(t *testing.T, b *backend) {
	l := open(t, b.config(t))
	fill(t, l, "a", 3000)
	last, next, trimmed := l.Last(), uint64(1), false
	err := l.Range(testContext(t), 1, last, func(es []Entry) error {
		if es[0].Seq != next {
			t.Fatalf("batch begins at %d, want %d", es[0].Seq, next)
		}
		next += uint64(len(es))
		if !trimmed {
			trimmed = true
			return l.Trim(testContext(t), last-10)
		}
		return nil
	})
	if err == nil && next != last+1 || err != nil && !errors.Is(err, ErrTrimmed) {
		t.Errorf("next %d, %v", next, err)
	}
}

func testOversize(t *testing.T, b *backend) {
	cfg := b.config(t)
	cfg.MaxRecordBytes = 1 << 20
	l := open(t, cfg)
	rec := record(OpCreate, strings.Repeat("x", 1<<20))
	if _, err := l.Append(testContext(t), key("x"), 0, rec); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("got %v, want ErrTooLarge", err)
	}
	if _, err := l.Append(testContext(t), key(strings.Repeat("x", 4000)), 0, record(OpCreate, "1")); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("long name: got %v, want ErrTooLarge", err)
	}
	closeLog(t, l)
	cfg.MaxRecordBytes = 0
	l = open(t, cfg)
	rec = record(OpCreate, "1")
	rec.Object = []byte(strings.Repeat("x", 7<<20))
	s := mustAppend(t, l, key("x"), 0, rec)
	if e, err := l.Get(testContext(t), s); err != nil || len(e.Record.Object) != 7<<20 {
		t.Fatalf("7 MiB record: %v", err)
	}
	readAll(t, l)
}

func testStrange(t *testing.T, b *backend) {
	l := open(t, b.config(t))
	r := follow(t, l, 1)
	var last uint64
	for _, n := range strangeNames {
		k := Key{Group: n, Resource: n, Namespace: n, Name: n}
		last = mustAppend(t, l, k, 0, record(OpCreate, "1"))
		if _, err := l.Append(testContext(t), k, 0, record(OpCreate, "1")); !errors.Is(err, ErrConflict) {
			t.Fatalf("%q: %v", n, err)
		}
	}
	for i, e := range readAll(t, l)[1:] {
		if n := strangeNames[i]; e.Key != (Key{n, n, n, n}) {
			t.Errorf("%q came back as %+v", n, e.Key)
		}
	}
	r.awaitSeq(t, last)
}

func testFollow(t *testing.T, b *backend) {
	l := open(t, b.config(t))
	fill(t, l, "a", 500)
	var rs []*recorder
	for _, from := range []uint64{1, 100, 501, 502, 650} {
		rs = append(rs, follow(t, l, from))
	}
	var wg sync.WaitGroup
	for w := range 10 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s := uint64(0)
			for i := range 30 {
				s = mustAppend(t, l, key(fmt.Sprint("w", w)), s, record(OpUpdate, fmt.Sprint(i)))
			}
		}()
	}
	rs = append(rs, follow(t, l, 1))
	wg.Wait()
	last := uint64(801)
	for i, from := range []uint64{1, 100, 501, 502, 650, 1} {
		wantContiguous(t, rs[i].awaitSeq(t, last), from, last)
	}
	live, cold := rs[0].entries(), readAll(t, l)
	for i := range cold {
		if !reflect.DeepEqual(live[i], cold[i]) {
			t.Fatalf("followed %+v, read %+v", live[i], cold[i])
		}
	}
}

func testRanges(t *testing.T, b *backend) {
	l := open(t, b.config(t))
	fill(t, l, "a", 2500)
	all := readAll(t, l)
	for _, r := range [][2]uint64{{1, 1}, {1, 64}, {1, 65}, {2400, 2501}, {2501, 2501}, {7, 1500}} {
		var got []Entry
		if err := l.Range(testContext(t), r[0], r[1], collect(&got)); err != nil {
			t.Fatal(err)
		}
		if want := all[r[0]-1 : r[1]]; !reflect.DeepEqual(got, want) {
			t.Errorf("range %d differs", r)
		}
	}
	if err := l.Range(testContext(t), 1, 2502, func([]Entry) error { return nil }); !errors.Is(err, ErrNotYet) {
		t.Errorf("range beyond the end: %v", err)
	}
	if _, err := l.Get(testContext(t), 2502); !errors.Is(err, ErrNotYet) {
		t.Errorf("get beyond the end: %v", err)
	}
	stop := errors.New("stop")
	for _, to := range []uint64{10, 2500} {
		if err := l.Range(testContext(t), 1, to, func([]Entry) error { return stop }); err != stop {
			t.Errorf("got %v, want fn's error", err)
		}
	}
}

func testNoLeaks(t *testing.T, b *backend) {
	l := open(t, b.config(t))
	fill(t, l, "a", 300)
	for range 5 {
		readAll(t, l)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { l.Follow(ctx, 1, func([]Entry) error { cancel(); return nil }); close(done) }()
	<-done
	eventually(t, "consumers are left", func() bool {
		info, err := l.stream.Info(testContext(t))
		return err == nil && info.State.Consumers == 0
	})
	if n := l.rc.NumSubscriptions(); n > 1 { // the requests' shared inbox
		t.Errorf("%d subscriptions are left", n)
	}
}

func testBarrier(t *testing.T, b *backend) {
	cfg := b.config(t)
	l := open(t, cfg)
	other := l
	if b.url != "" {
		other = open(t, cfg)
	}
	for i := range 10 {
		s := mustAppend(t, other, key(fmt.Sprint("x", i)), 0, record(OpCreate, "1"))
		n, err := l.Barrier(testContext(t))
		if err != nil || n < s {
			t.Fatalf("barrier %d after %d: %v", n, s, err)
		}
	}
	before := l.Last()
	var wg sync.WaitGroup
	for range 100 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := l.Barrier(testContext(t)); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if n := l.Last() - before; n > 50 {
		t.Errorf("100 barriers at once took %d records", n)
	}
}

func testStopReading(t *testing.T, b *backend) {
	l := open(t, b.config(t))
	fill(t, l, "a", 10)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	seen := make(chan struct{}, 100)
	go func() {
		done <- l.Follow(ctx, 1, func([]Entry) error { seen <- struct{}{}; return nil })
	}()
	<-seen
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("follow does not stop")
	}
}

func testClosed(t *testing.T, b *backend) {
	l := open(t, b.config(t))
	done := make(chan error, 1)
	seen := make(chan struct{}, 100)
	go func() {
		done <- l.Follow(testContext(t), 1, func([]Entry) error { seen <- struct{}{}; return nil })
	}()
	<-seen
	closeLog(t, l)
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Errorf("follow: %v", err)
	}
	if _, err := l.Append(testContext(t), key("x"), 0, record(OpCreate, "1")); !errors.Is(err, ErrClosed) {
		t.Errorf("append: %v", err)
	}
	if _, err := l.Get(testContext(t), 1); !errors.Is(err, ErrClosed) {
		t.Errorf("get: %v", err)
	}
	if _, err := l.Barrier(testContext(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("barrier: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}
