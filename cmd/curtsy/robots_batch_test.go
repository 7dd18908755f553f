package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

func TestRobotsBatch(t *testing.T) {
	t.Parallel()
	b64 := base64.StdEncoding.EncodeToString([]byte("user-agent: *\rdisallow: /caf\xE9\r"))
	for _, c := range []struct{ in, want string }{
		{`{"id":"a","robots_txt":"user-agent: *\ndisallow: /x&<\ncrawl-delay: 1.5\nsitemap: /s.xml\nsitemap: ftp://x/","agent":"bot","url":"http://bakery.test:81/x&%3C?y#z"}`,
			`{"id":"a","allow":false,"reason":"disallow rule","line":2,"rule":"disallow: /x&<","delay_s":1.5,"sitemaps":["http://bakery.test:81/s.xml"]}`},
		{`{"id":7,"robots_txt":"","agent":"bot","url":"http://bakery.test"}`,
			`{"id":7,"allow":true,"reason":"no rules","line":0,"rule":"","delay_s":null,"sitemaps":[]}`},
		{`{"id":{"n":1},"robots_b64":"` + b64 + `","agent":"bot","url":"http://bakery.test/caf%e9","more":"is passed over"}`,
			`{"id":{"n":1},"allow":false,"reason":"disallow rule","line":2,"rule":"disallow: /caf` + "\uFFFD" + `","delay_s":null,"sitemaps":[]}`},
		{`{"id":1,"standard":"draft1996","robots_txt":"user-agent: *\nallow: /a\ndisallow: /a/b","agent":"bot","url":"http://bakery.test/a/b"}`,
			`{"id":1,"allow":true,"reason":"allow rule","line":2,"rule":"allow: /a","delay_s":null,"sitemaps":[]}`},
		{`{"id":1,"standard":null,"robots_txt":"user-agent: curtsy\ndisallow: /","url":"http://bakery.test/a"}`,
			`{"id":1,"allow":false,"reason":"disallow rule","line":2,"rule":"disallow: /","delay_s":null,"sitemaps":[]}`},
		{`{"robots_txt":"user-agent: *\nrequest-rate: 1/5\ncrawl-delay: 2","agent":"bot","url":"http://bakery.test/robots.txt"}`,
			`{"id":null,"allow":true,"reason":"robots.txt itself","line":0,"rule":"","delay_s":5,"sitemaps":[]}`},
	} {
		r := fed(t, c.in+"\n", "robots", "check", "--batch")
		r.want(t, cli.ExitDone)
		r.prints(t, strings.ReplaceAll(c.want, "\uFFFD", `\ufffd`)+"\n")
	}
}

// A long line of a robots.txt is read whole, and so must a URL be that it matches.
func TestRobotsBatchOfALongURL(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 40000)
	for path, line := range map[string]int{"/" + long: 2, "/" + long + "?q#f": 2, "/" + long[1:]: 0, "?" + long: 3, "/" + long[1:] + "#" + long: 0} {
		in := fmt.Sprintf(`{"id":1,"robots_txt":"user-agent: *\ndisallow: /%s\ndisallow: /?a\nsitemap: /s","agent":"bot","url":"http://bakery.test%s"}`, long, path)
		r := fed(t, in, "robots", "check", "--batch")
		var got batchAnswer
		if err := json.Unmarshal([]byte(r.out), &got); err != nil || got.Line != line || got.Allow != (line == 0) || len(got.Sitemaps) != 1 {
			t.Errorf("%.20s…: %.200s, %v", path, r.out, err)
		}
	}
}

func TestRobotsBatchAnswersBadLinesAndGoesOn(t *testing.T) {
	t.Parallel()
	good := `{"id":"good","robots_txt":"","agent":"bot","url":"http://bakery.test/"}`
	for _, c := range []struct{ in, id, says string }{
		{`nonsense`, `null`, "invalid character"},
		{`{"id":1`, `null`, "unexpected end"},
		{good + good, `null`, "invalid character"},
		{`[1]`, `null`, "the line: a array"},
		{`{"id":1,"robots_txt":3,"url":"http://bakery.test/"}`, `1`, "robots_txt: a number"},
		{`{"id":"x","agent":"bot","url":"http://bakery.test/"}`, `"x"`, "neither robots_txt nor robots_b64"},
		{`{"id":2,"robots_txt":"","robots_b64":"","url":"http://bakery.test/"}`, `2`, "give one of them"},
		{`{"id":2,"robots_b64":"?","url":"http://bakery.test/"}`, `2`, "robots_b64: illegal base64"},
		{`{"id":2,"robots_txt":"","standard":"rfc9308","url":"http://bakery.test/"}`, `2`, `no standard "rfc9308"`},
		{`{"id":2,"robots_txt":"","agent":"bot/1","url":"http://bakery.test/"}`, `2`, "agent: "},
		{`{"id":2,"robots_txt":"","agent":"","url":"http://bakery.test/"}`, `2`, "agent: "},
		{`{"id":2,"robots_txt":"","agent":"bot"}`, `2`, "url: "},
		{`{"id":2,"robots_txt":"","agent":"bot","url":"mailto:a@bakery.test"}`, `2`, "url: "},
		{`{"id":2,"robots_txt":"","agent":"bot","url":"http://` + strings.Repeat("x", 40000) + `"}`, `2`, "url too long"},
		{strings.Repeat("x", maxQuestion+1), `null`, "longer than 16MiB"},
	} {
		r := fed(t, c.in+"\n\n"+good, "robots", "check", "--batch")
		r.want(t, cli.ExitDone)
		first, second, _ := strings.Cut(r.out, "\n")
		var bad refusal
		if err := json.Unmarshal([]byte(first), &bad); err != nil || string(bad.ID) != c.id || !strings.Contains(bad.Error, c.says) {
			t.Errorf("%.99s: %.200s; want id %s and %q", c.in, first, c.id, c.says)
		}
		if !strings.HasPrefix(second, `{"id":"good","allow":true,`) || strings.Count(second, "\n") != 1 {
			t.Errorf("%.99s: then %s", c.in, second)
		}
	}
}

func TestRobotsBatchOf10000LinesInOrder(t *testing.T) {
	t.Parallel()
	const lines = 10000
	var in bytes.Buffer
	for i := range lines {
		if i%7 == 3 {
			fmt.Fprintf(&in, `{"id":%d,"robots_txt":1}`+"\n", i)
			continue
		}
		fmt.Fprintf(&in, `{"id":%d,"robots_txt":"user-agent: *\ndisallow: /%d$","agent":"bot","url":"http://bakery.test/%d"}`+"\r\n", i, i%3, i%4)
	}
	r := fed(t, in.String(), "robots", "check", "--batch")
	r.want(t, cli.ExitDone)
	n := 0
	for line := range strings.Lines(r.out) {
		want := fmt.Sprintf(`{"id":%d,"allow":%v,`, n, n%3 != n%4)
		if n%7 == 3 {
			want = fmt.Sprintf(`{"id":%d,"error":`, n)
		}
		if !strings.HasPrefix(line, want) {
			t.Fatalf("line %d: %s, want %s…", n+1, line, want)
		}
		n++
	}
	if n != lines {
		t.Errorf("%d answers, want %d", n, lines)
	}
}

// Each question is answered before the next is awaited.
func TestRobotsBatchStreams(t *testing.T) {
	t.Parallel()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan int)
	go func() {
		ended <- run(context.Background(), []string{"robots", "check", "--batch"}, cli.Streams{In: inR, Out: outW, Err: io.Discard})
	}()
	answers := bufio.NewReader(outR)
	for i := range 3 {
		if _, err := fmt.Fprintf(inW, `{"id":%d,"robots_txt":"","agent":"bot","url":"http://bakery.test/"}`+"\n", i); err != nil {
			t.Fatal(err)
		}
		if line, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(line, fmt.Sprintf(`{"id":%d,"allow":true`, i)) {
			t.Fatalf("answer %d: %s, %v", i, line, err)
		}
	}
	inW.Close()
	if code := <-ended; code != cli.ExitDone {
		t.Errorf("exit code %d", code)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (brokenPipe) Read([]byte) (int, error)  { return 0, io.ErrUnexpectedEOF }

func TestRobotsBatchWithoutInputOrOutput(t *testing.T) {
	t.Parallel()
	good := strings.NewReader(`{"robots_txt":"","agent":"bot","url":"http://bakery.test/"}`)
	for _, std := range []cli.Streams{{In: good, Out: brokenPipe{}, Err: io.Discard}, {In: brokenPipe{}, Out: io.Discard, Err: io.Discard}} {
		if code := run(context.Background(), []string{"robots", "check", "--batch"}, std); code != cli.ExitFailed {
			t.Errorf("exit code %d, want %d", code, cli.ExitFailed)
		}
	}
}

// The process, too: a shell's pipe is what people use.
func TestRobotsBatchAsAProcess(t *testing.T) {
	t.Parallel()
	cmd := curtsy(t, "robots", "check", "--batch")
	cmd.Stdin = strings.NewReader(strings.Repeat(`{"id":"p","robots_txt":"user-agent: *\ndisallow: /","agent":"bot","url":"http://bakery.test/"}`+"\n", 3))
	r := ended(t, cmd)
	r.want(t, cli.ExitDone)
	if lines := strings.Split(r.out, "\n"); len(lines) != 4 || len(slices.Compact(lines[:3])) != 1 || !strings.Contains(lines[0], `"allow":false`) {
		t.Errorf("%s", r.out)
	}
}
