//go:build peers

package dashboard

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func promtool(t *testing.T, in string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil { // of Debian's package prometheus
		require.Empty(t, os.Getenv("CURTSY_MUST_RUN"), "promtool is not installed, and CURTSY_MUST_RUN is set")
		t.Skip("promtool is not installed")
	}
	cmd := exec.CommandContext(t.Context(), "promtool", args...)
	cmd.Stdin = strings.NewReader(in)
	cmd.Dir = filepath.Join("..", "..", "docs", "deploy")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestPeers_PrometheusReadsMetricsAndAlerts(t *testing.T) {
	assert.Empty(t, promtool(t, scrape(t, MetricsOptions{Version: "1.2.3", Process: true}, running("news")), "check", "metrics"))
	promtool(t, "", "check", "rules", "alerts.yml")
	promtool(t, "", "test", "rules", "alerts_test.yml")
}

func TestPeers_ExpressionsForGrafanaAreSound(t *testing.T) {
	fill := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*", "$crawl", ".*")
	var rules strings.Builder
	rules.WriteString("groups:\n- name: grafana\n  rules:\n")
	for i, e := range expressions(t) {
		if !strings.HasPrefix(e, "label_values(") {
			fmt.Fprintf(&rules, "  - record: panel:%d\n    expr: %q\n", i, fill.Replace(e))
		}
	}
	path := filepath.Join(t.TempDir(), "grafana.yml")
	require.NoError(t, os.WriteFile(path, []byte(rules.String()), 0o600))
	promtool(t, "", "check", "rules", path)
}
