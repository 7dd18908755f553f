package storage

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestKindsOfAnswer_AreFew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status    int
		mediaType string
		want      string
	}{
		{200, "text/html", "status: 2xx,type: text/html"}, {206, "image/x-0815", "status: 2xx,type: image/*"}, {200, "x/y", "status: 2xx,type: other"},
		{200, "", "status: 2xx,type: none"}, {304, "text/html", "status: 3xx"}, {599, "", "status: 5xx"}, {100, "", "status: 1xx"}, {0, "", ""}, {999, "", ""},
	} {
		assert.Equalf(t, c.want, strings.Join(KindsOfAnswer(c.status, c.mediaType), ","), "%d %q", c.status, c.mediaType)
	}
}
