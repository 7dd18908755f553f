package bolt

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
)

// Entry tells of every URL what Export tells, of a frontier at rest and of one in use, and nothing of any other.
func TestEntry_SaysOfEachURLWhatAnExportSays(t *testing.T) {
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			e := newEngine(t, t.TempDir(), frontier.Options{})
			e.busy(seed, 60)
			if seed == 2 {
				e.die() // what was in flight counts one more stop
			} else {
				e.shut()
			}
			x, _ := export(t, e.file)
			f := reader(t, e.file)
			step := max(len(x.urls)/150, 1)
			for i := 0; i < len(x.urls); i += step {
				got, ok, err := f.Entry(context.Background(), x.urls[i].URL)
				got.Wait, x.urls[i].Wait = 0, 0 // they were asked for at different instants
				if err != nil || !ok || !reflect.DeepEqual(got, x.urls[i]) {
					t.Errorf("%s: %+v, %v, %v; exported as %+v", x.urls[i].URL, got, ok, err, x.urls[i])
				}
			}
			if len(x.urls) < 100 {
				t.Errorf("only %d URLs", len(x.urls))
			}
			for _, c := range []frontier.Candidate{e.links("nobody", 0, 1)[0], e.links("a", 1<<20, 1)[0]} {
				if got, ok, err := f.Entry(context.Background(), c.URL); ok || err != nil {
					t.Errorf("%s: %+v, %v", c.URL, got, err)
				}
			}
			require.NoError(t, f.Close())
		})
	}
}
