package ledger

import (
	"fmt"
	"testing"
	"time"

	"curtsy/storage"
)

func typical(i int) storage.Line {
	host, digest := fmt.Sprintf("www.host-%03d.example", i%1000), fmt.Sprintf("%064x", i)
	return storage.Line{
		Time: time.Unix(1_700_000_000+int64(i), 0).UTC(), URL: fmt.Sprintf("https://%s/articles/%d.html", host, i), Via: fmt.Sprintf("https://%s/articles/", host),
		Kind: storage.KindLink, Depth: 3, Seed: "https://" + host + "/", Decision: storage.DecisionAllow, Reason: "no match", RobotsGroup: "*", RobotsSHA256: digest,
		RobotsRecord: "urn:uuid:01234567-89ab-4def-8123-456789abcdef", Standard: "rfc9309", Pace: time.Second, PaceBy: storage.ByFloor, Gap: 1001 * time.Millisecond,
		Attempt: 1, Began: time.Unix(1_700_000_000+int64(i), 0).UTC(), Took: 80 * time.Millisecond, FirstByte: 60 * time.Millisecond, Outcome: storage.OutcomeFetched,
		Status: 200, Type: "text/html", Octets: 18_000, Payload: digest, Record: "urn:uuid:01234567-89ab-4def-8123-456789abcde0", Blocks: digest,
	}
}

// A line allocates nothing: each URL ever found has one.
func TestAppendAllocatesNothing(t *testing.T) {
	w := open(t, Options{Dir: t.TempDir(), Signer: testKey(1)})
	l, ctx := typical(1), t.Context()
	for range 1000 {
		write(t, w, l)
	}
	if n := testing.AllocsPerRun(1000, func() {
		if w.Append(ctx, l) != nil {
			t.Fail()
		}
	}); n > 0 {
		t.Errorf("%v allocations for a line", n)
	}
	closing(t, w)
}
