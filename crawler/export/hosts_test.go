package export

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/storage"
)

// An attempt without a connection is only in the errors table.
func TestHosts_CountSentRequests(t *testing.T) {
	t.Parallel()
	var h host
	h.take(&storage.Line{Decision: storage.DecisionRobots, Attempt: 1, Status: 404, Record: "urn:uuid:1", Pace: time.Second, PaceBy: storage.ByFloor})
	h.take(&storage.Line{Decision: storage.DecisionRobots, Attempt: 2, Reason: storage.ReasonConnect, Pace: time.Minute, PaceBy: storage.ByErrors})
	assert.Truef(t, h.Lines == 2 && h.Exchanges == 1 && h.Robots == 1 && h.Retries == 0 && h.Status[0] == 0 && h.MostPace == time.Second, "%+v", h)
}
