package eventlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func single(t *testing.T) *backend {
	srv := startSingle(t, t.TempDir(), -1)
	t.Cleanup(func() { stopServer(srv) })
	return &backend{name: "single", url: srv.ClientURL(), replicas: 1}
}

func TestStreamWhoseSettingsWouldLoseDataIsRefused(t *testing.T) {
	b := single(t)
	js := b.js(t)
	for setting, change := range map[string]func(*jetstream.StreamConfig){
		"Subjects":               func(c *jetstream.StreamConfig) { c.Subjects = []string{"kron.a.>"} },
		"Retention":              func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy },
		"Storage":                func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage },
		"MaxAge":                 func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour },
		"MaxMsgs":                func(c *jetstream.StreamConfig) { c.MaxMsgs = 1000 },
		"MaxMsgsPerSubject":      func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 },
		"Discard":                func(c *jetstream.StreamConfig) { c.MaxBytes, c.Discard = 1<<20, jetstream.DiscardOld },
		"AllowMsgTTL":            func(c *jetstream.StreamConfig) { c.AllowMsgTTL = true },
		"SubjectDeleteMarkerTTL": func(c *jetstream.StreamConfig) { c.SubjectDeleteMarkerTTL, c.AllowRollup = time.Minute, true },
		"AllowRollup":            func(c *jetstream.StreamConfig) { c.AllowRollup = true },
		"NoAck":                  func(c *jetstream.StreamConfig) { c.NoAck = true; c.AllowAtomicPublish = false },
		"DenyPurge":              func(c *jetstream.StreamConfig) { c.DenyPurge = true },
		"SubjectTransform": func(c *jetstream.StreamConfig) {
			c.SubjectTransform = &jetstream.SubjectTransformConfig{Source: "kron.a", Destination: "kron.b"}
		},
		"PersistMode": func(c *jetstream.StreamConfig) {
			c.PersistMode, c.AllowAtomicPublish = jetstream.AsyncPersistMode, false
		},
	} {
		t.Run(setting, func(t *testing.T) {
			cfg := b.config(t)
			c := streamConfig(cfg.withDefaults(), "", true)
			change(&c)
			// nats-server still removes the files of the stream before, and may fail for that.
			eventually(t, "the stream cannot be created", func() bool {
				_, err := js.CreateStream(testContext(t), c)
				if err != nil {
					t.Log(err)
				}
				return err == nil
			})
			_, err := Open(testContext(t), cfg)
			if !errors.Is(err, ErrSettings) || !strings.Contains(err.Error(), setting) && setting != "SubjectDeleteMarkerTTL" {
				t.Fatalf("got %v, want ErrSettings naming %s", err, setting)
			}
			if info, err := js.Stream(testContext(t), cfg.Stream); err != nil || info.CachedInfo().State.LastSeq != 0 {
				t.Errorf("the refused stream was written to")
			}
		})
	}
	t.Run("Replicas", func(t *testing.T) {
		cfg := b.config(t)
		closeLog(t, open(t, cfg))
		cfg.Replicas = 3
		if _, err := Open(testContext(t), cfg); !errors.Is(err, ErrSettings) || !strings.Contains(err.Error(), "Replicas") {
			t.Fatalf("got %v", err)
		}
	})
}

func TestPlainStreamOfAnOperatorIsTaken(t *testing.T) {
	b := single(t)
	cfg := b.config(t)
	if _, err := b.js(t).CreateStream(testContext(t), jetstream.StreamConfig{Name: cfg.Stream, Subjects: []string{subjectAll}}); err != nil {
		t.Fatal(err)
	}
	l := open(t, cfg)
	fill(t, l, "a", 40)
	readAll(t, l)
	if _, err := l.Get(testContext(t), 5); err != nil {
		t.Fatal(err)
	}
	if err := l.Trim(testContext(t), 10); err != nil {
		t.Fatal(err)
	}
	epoch := l.Epoch()
	closeLog(t, l)
	if l = open(t, cfg); l.Epoch() != epoch {
		t.Errorf("epoch %s, was %s", l.Epoch(), epoch)
	}
}

func TestForeignStreamIsRefused(t *testing.T) {
	b := single(t)
	cfg := b.config(t)
	js := b.js(t)
	if _, err := js.CreateStream(testContext(t), streamConfig(cfg.withDefaults(), "", true)); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(testContext(t), "kron.something.else", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(testContext(t), cfg); !errors.Is(err, ErrDamaged) {
		t.Fatalf("got %v, want a DamageError", err)
	}
}

func TestServersThatCreateTheLogAtOnceAgree(t *testing.T) {
	b := single(t)
	for range 5 {
		cfg := b.config(t)
		logs := make([]*Log, 4)
		var wg sync.WaitGroup
		for i := range logs {
			wg.Add(1)
			go func() {
				defer wg.Done()
				var err error
				if logs[i], err = Open(testContext(t), cfg); err != nil {
					t.Error(err)
				}
			}()
		}
		wg.Wait()
		for _, l := range logs {
			if l == nil {
				continue
			}
			if l.Epoch() != logs[0].Epoch() || l.First() != 1 || l.Last() != 1 {
				t.Errorf("epoch %s, first %d, last %d", l.Epoch(), l.First(), l.Last())
			}
			closeLog(t, l)
		}
		b.clear(t)
	}
}

func TestGapIsRefusedAtOpenAndFoundByReading(t *testing.T) {
	b := single(t)
	cfg := b.config(t)
	c := streamConfig(cfg.withDefaults(), "", true)
	c.DenyDelete = false
	s, err := b.js(t).CreateStream(testContext(t), c)
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, cfg)
	fill(t, l, "a", 300)
	if err := s.DeleteMsg(testContext(t), 200); err != nil {
		t.Fatal(err)
	}
	var d *DamageError
	for _, from := range []uint64{1, 190} {
		next := from
		err = l.Range(testContext(t), from, 201, func(es []Entry) error { next += uint64(len(es)); return nil })
		if !errors.As(err, &d) || d.Seq != 200 || next != 200 {
			t.Errorf("range from %d: read up to %d, %v", from, next, err)
		}
	}
	if err = l.Follow(testContext(t), 1, func([]Entry) error { return nil }); !errors.As(err, &d) || d.Seq != 200 {
		t.Errorf("follow: %v", err)
	}
	if _, err := l.Get(testContext(t), 200); !errors.As(err, &d) || d.Seq != 200 {
		t.Errorf("get: %v", err)
	}
	if _, err := Open(testContext(t), cfg); !errors.As(err, &d) || d.Seq != 200 || d.Hint == "" {
		t.Errorf("open: %v", err)
	}
}

// Two servers, each with its own memory of recent records.
func TestServersAppendAsEquals(t *testing.T) {
	b := single(t)
	cfg := b.config(t)
	l1, l2 := open(t, cfg), open(t, cfg)
	s := mustAppend(t, l1, key("x"), 0, record(OpCreate, "1"))
	s = mustAppend(t, l2, key("x"), s, record(OpUpdate, "2"))
	s = mustAppend(t, l1, key("x"), s, record(OpUpdate, "3")) // l1 remembers a lower one
	if _, err := l2.Append(testContext(t), key("x"), s-1, record(OpUpdate, "no")); !errors.Is(err, ErrConflict) {
		t.Fatal(err)
	}
	mustAppend(t, l2, key("x"), s, record(OpDelete, "3"))
	s = mustAppend(t, l1, key("x"), 0, record(OpCreate, "4")) // l1 remembers a live one
	d := mustAppend(t, l1, key("x"), s, record(OpDelete, "4"))
	fill(t, l1, "a", 20)
	if err := l2.Trim(testContext(t), d+5); err != nil {
		t.Fatal(err)
	}
	s = mustAppend(t, l1, key("x"), 0, record(OpCreate, "5")) // l1 does not know of the trim
	fill(t, l1, "b", 20)
	if err := l2.Trim(testContext(t), s+5); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, l1, key("x"), s, record(OpUpdate, "6")) // nor of this one
}

func TestLostAckOverwrittenByAnotherServerIsStillSuccess(t *testing.T) {
	b := single(t)
	cfg := b.config(t)
	l2 := open(t, cfg)
	f := follow(t, l2, 1)
	var lose atomic.Bool
	cfg.Faults.AckWait = 200 * time.Millisecond
	cfg.Faults.LoseAck = func(uint64) bool { return lose.CompareAndSwap(true, false) }
	l1 := open(t, cfg)
	s := mustAppend(t, l1, key("x"), 0, record(OpCreate, "1"))
	lose.Store(true)
	type result struct {
		seq uint64
		err error
	}
	done := make(chan result)
	go func() {
		seq, err := l1.Append(testContext(t), key("x"), s, record(OpUpdate, "2"))
		done <- result{seq, err}
	}()
	f.awaitSeq(t, s+1)
	mustAppend(t, l2, key("x"), s+1, record(OpUpdate, "3"))
	if r := <-done; r.err != nil || r.seq != s+1 {
		t.Fatalf("%d, %v, want %d", r.seq, r.err, s+1)
	}
}

func TestRestartOfTheServerIsSurvived(t *testing.T) {
	dir, port := t.TempDir(), freePorts(t, 1)[0]
	srv := startSingle(t, dir, port)
	l := open(t, Config{URL: fmt.Sprintf("nats://127.0.0.1:%d", port)})
	fill(t, l, "a", 20)
	r := follow(t, l, 1)
	r.awaitSeq(t, 21)
	stopServer(srv)
	short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.Info(short); !errors.Is(err, ErrUnavailable) {
		t.Errorf("info while the server is down: %v", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := l.Append(testContext(t), key("down"), 0, record(OpCreate, "1"))
		done <- err
	}()
	srv = startSingle(t, dir, port)
	defer func() { stopServer(srv) }()
	if err := <-done; err != nil {
		t.Fatalf("append over a restart: %v", err)
	}
	wantContiguous(t, r.awaitSeq(t, 22), 1, 22)
}

func TestAbsentServerIsUnavailable(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	url := fmt.Sprintf("nats://127.0.0.1:%d", freePorts(t, 1)[0])
	if _, err := Open(ctx, Config{URL: url}); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), url) {
		t.Fatalf("got %v, want ErrUnavailable naming the address", err)
	}
}

func TestUnreachedServerIsUnavailableNotUnknown(t *testing.T) {
	cfg := single(t).config(t)
	cfg.Faults.CommitTimeout = 100 * time.Millisecond
	cfg.Faults.BeforePublish = func(Key, int) error { return nats.ErrConnectionClosed }
	l := open(t, cfg)
	if _, err := l.Append(testContext(t), key("x"), 0, record(OpCreate, "1")); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnknown) {
		t.Fatalf("got %v, want ErrUnavailable", err)
	}
}

func TestBlobsComeBackAsTheyWere(t *testing.T) {
	l := open(t, single(t).config(t))
	ctx := testContext(t)
	b, err := l.Blobs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if names, err := b.List(ctx); err != nil || len(names) != 0 {
		t.Fatalf("empty bucket: %v, %v", names, err)
	}
	content := strings.Repeat("0123456789", 50_000)
	for range 2 {
		if err := b.Put(ctx, "snap-1", strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := b.Get(ctx, "snap-1")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || string(got) != content {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if names, err := b.List(ctx); err != nil || len(names) != 1 || names[0] != "snap-1" {
		t.Fatalf("%v, %v", names, err)
	}
	for range 2 {
		if err := b.Delete(ctx, "snap-1"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Get(ctx, "snap-1"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("got %v, want ErrNotFound", err)
	}
}
