package report

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/ledger"
)

func TestReport_ShowsOperatorActs(t *testing.T) {
	var e ending
	at := time.Date(2026, 5, 3, 10, 0, 0, 0, time.UTC)
	for range maxActs + 3 {
		e.mark(&ledger.Mark{Kind: ledger.KindOperator, Time: at, Operator: &ledger.Operator{
			Act: ledger.ActPark, About: "https://a.test", URLs: 7, Note: "\x1b[31m<script>",
		}})
	}
	var c Crawl
	e.set(&c)
	require.Truef(t, len(c.Acts) == maxActs && c.MoreActs == 3, "%d acts, %d more", len(c.Acts), c.MoreActs)
	a := c.Acts[0]
	assert.Truef(t, a.Act == "park" && a.About == "https://a.test" && a.URLs == 7 && a.Time.Equal(at) && !strings.Contains(a.Note, "\x1b"), "%+v", a)
	r := &Report{Crawl: c}
	var page strings.Builder
	require.NoError(t, r.WriteHTML(&page))
	if s := page.String(); !strings.Contains(s, "What operators did") || strings.Contains(s, "<script>") || !strings.Contains(s, "3 acts more") {
		t.Error("the page does not show them, or shows them raw")
	}
}
