package kinds

import (
	"sync"
	"testing"
)

func TestKindsServeManyRequestsAtOnce(t *testing.T) {
	r := NewRegistry()
	gears := custom(t, r, gearSchema)
	pods := kind(t, r, "", "v1", "pods")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				for k, s := range map[*Kind]string{pods: defaulted[0].obj, gears: `{"apiVersion":"example.com/v1","kind":"Gear","metadata":{"name":"a"},"spec":{"size":3,"color":"red","parts":[{"name":"a"}]}}`} {
					obj, _, err := DecodeJSON([]byte(s))
					if err != nil {
						t.Error(err)
						return
					}
					_, err = k.Conform(obj)
					k.PrepareCreate(obj)
					if errs := k.Validate(obj, nil); err != nil || len(errs) > 0 {
						t.Error(err, errs)
					}
				}
			}
		})
	}
	wg.Wait()
}
