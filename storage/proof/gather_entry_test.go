package proof

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/storage"
	"curtsy/storage/ledger/hostmap"
)

func TestTheHostOfALineIsThatOfItsURL(t *testing.T) {
	for _, line := range []string{
		`{"time":"2026-03-01T12:00:00.000000Z","url":"http://a.test/x","decision":"allow"}`,
		`{"time":"2026-03-01T12:00:00.000000Z","url":"http://A.Test:8080/?u=http://b.test/","decision":"allow"}`,
		`{"time":"2026-03-01T12:00:00.000000Z","url":"http://a.test/\"x","decision":"refuse"}`,
		`{"time":"2026-03-01T12:00:00.000000Z","url":"http:\/\/a.test\/","decision":"refuse"}`,
		`{"time":"2026-03-01T12:00:00.000000Z","url":"http://\u0061.test/","decision":"refuse"}`,
		`{"url":"http://a.test/","time":"2026-03-01T12:00:00.000000Z","decision":"refuse"}`,
		`{"time":"2026-03-01T12:00:00.000000Z","kind":"link","url":"http://a.test/"}`,
		`{"time":"2026-03-01T12:00:00.000000Z","url":"mailto:a@b.test","decision":"refuse"}`,
		`{"time":"2026-03-01T12:00:00.000000Z"}`,
		`{"time":"`, `{`, ``, `x`, `{"time":"2026-03-01T12:00:00.000000Z","url":"http://a.test/`,
	} {
		want := ""
		if l, err := storage.ParseLine([]byte(line)); err == nil {
			want = hostmap.Host(l.URL)
		}
		got := hostOf([]byte(line))
		assert.Equal(t, want, got, line)
	}
}
