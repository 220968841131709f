package projections

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/kronicle/kronicle/eventlog"
)

func TestASlowWatcherIsNeverCutOffAndDelaysNobody(t *testing.T) {
	log, s := start(t, Config{MemoryWindow: 20_000, ColdMemory: 100_000})
	slow, _ := s.Watch(things, 0)
	fast, _ := s.Watch(things, 0)
	rv := uint64(0)
	for i := range 3000 {
		rv = log.put("a", "x", rv, "", strings.Repeat("y", 100))
		if i%500 == 0 {
			s.reach(rv)
			for pos := uint64(0); pos < rv; {
				_, upto, err := fast.Next(bg)
				if err != nil {
					t.Fatal(err)
				}
				pos = upto
			}
		}
	}
	s.reach(rv)
	count, last := 0, uint64(0)
	for last < rv {
		changes, _, err := slow.Next(bg)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if count > 0 && c.Seq != last+1 {
				t.Fatalf("sequence %d after %d", c.Seq, last)
			}
			count, last = count+1, c.Seq
		}
	}
	if count != 3000 {
		t.Errorf("got %d changes, want 3000", count)
	}
	if s.Stats().Parkings == 0 {
		t.Error("the slow watcher never read the log: the test shows nothing")
	}
	if got := s.Stats().FeedBytes; got > 20_000 {
		t.Errorf("recent changes take %d bytes, the window is 20,000", got)
	}
}

func TestAnIdleWatcherNeedsNoLogFromBeforeItWasWoken(t *testing.T) {
	log, s := start(t, Config{MemoryWindow: -1}) // every change is evicted at once
	w, _ := s.Watch(things, 0)
	got := make(chan error, 1)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	asleep := func() {
		for w.res.feed.wake.Load() == nil {
			runtime.Gosched()
		}
	}
	go func() {
		changes, _, err := w.Next(ctx)
		if err == nil && len(changes) != 1 {
			err = fmt.Errorf("%d changes", len(changes))
		}
		got <- err
	}()
	asleep()
	for range 100 {
		log.append(eventlog.Key{}, &eventlog.Record{Op: eventlog.OpBarrier})
	}
	s.reach(log.Last())
	s.RaiseFloor(90)
	log.trim(90)
	log.put("a", "x", 0, "", "")
	if err := <-got; err != nil {
		t.Fatal(err)
	}
}

func TestWatchStartsAnywhereAboveTheFloor(t *testing.T) {
	log, s := start(t, Config{})
	for i := range 50 {
		log.put("a", fmt.Sprint(i), 0, "", "")
	}
	s.reach(51)
	s.RaiseFloor(20)
	s.RaiseFloor(10)
	var expired *ExpiredError
	if _, err := s.Watch(things, 19); !errors.As(err, &expired) || expired.Seq != 19 || expired.Floor != 20 {
		t.Errorf("below the floor: %v", err)
	}
	if _, err := s.At(bg, things, 19); !errors.Is(err, ErrExpired) {
		t.Errorf("state below the floor: %v", err)
	}
	var future *FutureError
	if _, err := s.At(bg, things, 52); !errors.As(err, &future) || future.Current != 51 {
		t.Errorf("state in the future: %v", err)
	}
	w, err := s.Watch(things, 20)
	if err != nil {
		t.Fatal(err)
	}
	if changes, _, _ := w.Next(bg); changes[0].Seq != 21 {
		t.Errorf("first change is %d, want 21", changes[0].Seq)
	}
	ahead, _ := s.Watch(things, 60)
	for i := range 10 {
		log.put("b", fmt.Sprint(i), 0, "", "")
	}
	if changes, _, _ := ahead.Next(bg); len(changes) == 0 || changes[0].Seq != 61 {
		t.Errorf("a watch of the future began with %v", changes)
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if _, upto, err := ahead.Next(ctx); upto < 61 || !errors.Is(err, context.Canceled) {
		t.Errorf("got %d, %v", upto, err)
	}
}

func TestACursorTrimmedAwayIsToldSo(t *testing.T) {
	log, s := start(t, Config{MemoryWindow: -1, ColdMemory: 1})
	w, _ := s.Watch(things, 5)
	for i := range 3000 {
		log.put("a", fmt.Sprint(i), 0, "", "")
	}
	s.reach(log.Last())
	s.RaiseFloor(2500)
	log.trim(2400)
	var expired *ExpiredError
	if _, _, err := w.Next(bg); !errors.As(err, &expired) || expired.Floor != 2500 {
		t.Errorf("got %v", err)
	}
	// A trim that passes the reader while it reads is no gap either.
	w, _ = s.Watch(things, 2500)
	log.batch = func() int { return 10 }
	log.onRange = func() { log.onRange = nil; log.trim(2900) }
	if changes, _, err := w.Next(bg); err == nil && changes[0].Seq != 2501 {
		t.Errorf("after a trim the watcher went on at %d", changes[0].Seq)
	} else if err != nil && !errors.Is(err, ErrExpired) {
		t.Errorf("got %v", err)
	}
}

func TestEachChangeIsEncodedOnceHoweverManyWatch(t *testing.T) {
	log, s := start(t, Config{})
	var watchers []*Watcher
	for range 200 {
		w, _ := s.Watch(things, 1)
		watchers = append(watchers, w)
	}
	rv := uint64(0)
	for range 30 {
		rv = log.put("a", "x", rv, "", "")
	}
	s.reach(rv)
	first := map[uint64]*byte{}
	for _, w := range watchers {
		for pos := uint64(0); pos < rv; {
			changes, upto, _ := w.Next(bg)
			pos = upto
			for _, c := range changes {
				if p := first[c.Seq]; p != nil && p != &c.Frame()[0] {
					t.Fatal("frames are not shared")
				}
				first[c.Seq] = &c.Frame()[0]
			}
		}
	}
	if n := s.Stats().Frames; n != 30 {
		t.Errorf("%d frames for 30 changes and 200 watchers", n)
	}
}

func TestParkedWatchersShareWhatIsReadFromTheLog(t *testing.T) {
	log, s := start(t, Config{MemoryWindow: -1, ColdMemory: 10 << 20})
	rv := uint64(0)
	for range 2000 {
		rv = log.put("a", "x", rv, "", "")
	}
	s.reach(rv)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			w, _ := s.Watch(things, 0)
			defer w.Close()
			for pos := uint64(0); pos < rv; {
				changes, _, err := w.Next(bg)
				if err != nil {
					t.Error(err)
					return
				}
				for _, c := range changes {
					if prev, err := c.Previous(bg); err != nil || (prev == nil) != (c.Seq == 2) {
						t.Errorf("previous of %d: %v, %v", c.Seq, prev, err)
					}
				}
				pos = changes[len(changes)-1].Seq
			}
		})
	}
	wg.Wait()
	st := s.Stats()
	if st.ColdReads != 2 || log.ranges != 2 {
		t.Errorf("the log was read %d times for 50 watchers, want 2", st.ColdReads)
	}
	if st.Watchers != 0 || st.Parked != 0 {
		t.Errorf("%d watchers, %d parked after all were closed", st.Watchers, st.Parked)
	}
}

func TestDepartedObjectsCarryTheChangesVersion(t *testing.T) {
	for name, window := range map[string]int64{"from memory": 0, "from the log": -1} {
		t.Run(name, func(t *testing.T) {
			log, s := start(t, Config{MemoryWindow: window})
			log.put("a", "x", 0, `"app":"web"`, "")
			log.put("a", "x", 2, "", "")
			s.reach(3)
			w, _ := s.Watch(things, 2)
			changes, _, err := w.Next(bg)
			if err != nil {
				t.Fatal(err)
			}
			gone, err := changes[0].Departed(bg)
			if err != nil {
				t.Fatal(err)
			}
			app, _ := gone.Label("app")
			if app != "web" || gone.RV() != 3 || gone.Natural() != Deleted || !strings.Contains(string(gone.JSON()), `"resourceVersion":"3"`) {
				t.Errorf("departed is %s", gone.JSON())
			}
			if again, _ := changes[0].Departed(bg); again != gone {
				t.Error("it is not shared")
			}
		})
	}
}

func TestAnIdleWatcherCostsLittleAndConstant(t *testing.T) {
	log, s := start(t, Config{})
	s.reach(log.Last())
	const n = 10_000
	measure := func() int64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools gave up is freed by the second
		runtime.ReadMemStats(&before)
		all := make([]*Watcher, n)
		for i := range all {
			all[i], _ = s.Watch(things, s.Applied())
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(all)
		return int64(after.HeapAlloc-before.HeapAlloc) / n
	}
	empty := measure()
	for i := range 3000 {
		log.put("a", fmt.Sprint(i), 0, "", "")
	}
	s.reach(log.Last())
	if full := measure(); empty > 128 || full > 128 {
		t.Errorf("a watcher takes %d bytes, %d with a full feed", empty, full)
	}
}
