package crawlcmd

import (
	"io"
	"regexp"
	"runtime"
	"strings"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir/userfile"
)

// sound is a token that can stand in a header field and in an address as it is, and that nobody guesses.
var sound = regexp.MustCompile(`^[A-Za-z0-9._~+/-]{20,200}=*$`)

// maxToken is how much of a file is read, in bytes.
const maxToken = 1 << 10

// tokenIn reads the token of a dashboard from a file that the user keeps, which others must not read: whoever has it may
// steer the crawl. Without a file there is none, and the dashboard makes one.
func tokenIn(flag, path string) (string, error) {
	if path == "" {
		return "", nil
	}
	f, err := userfile.Open(path)
	if err != nil {
		return "", cli.Usagef("%s: %w", flag, err)
	}
	defer f.Close()
	fi, err := f.Stat()
	switch {
	case err != nil:
		return "", cli.Usagef("%s: %w", flag, err)
	case runtime.GOOS != "windows" && fi.Mode().IsRegular() && fi.Mode().Perm()&0o077 != 0:
		return "", cli.Usagef("%s: other users can read %s, and anyone with the token can steer the crawl; chmod 600 prevents that", flag, path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxToken))
	if err != nil {
		return "", cli.Usagef("%s: %w", flag, err)
	}
	token := strings.TrimSpace(string(b))
	if !sound.MatchString(token) {
		return "", cli.Usagef("%s: %s holds no token, which is a line of 20 to 200 letters and digits, as openssl rand -hex 32 prints it", flag, path)
	}
	return token, nil
}
