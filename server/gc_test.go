package server

import "testing"

func TestTargetOfTheCollectorFallsAsTheHeapGrows(t *testing.T) {
	last := gcSmallGOGC
	for live := uint64(1 << 20); live <= 4<<30; live += live / 4 {
		got := gcTarget(live)
		if got > last || got < gcLargeGOGC {
			t.Fatalf("heap of %d: target %d after %d", live, got, last)
		}
		last = got
	}
	if first := gcTarget(0); first != gcSmallGOGC || last != gcLargeGOGC {
		t.Errorf("from %d to %d", first, last)
	}
}
