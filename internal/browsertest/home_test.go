package browsertest

import (
	"fmt"
	"os/exec"
	"regexp"
	"testing"
	"time"
)

// TestHome finds something to do on the Home of the demo. The bars of the next days add up to the open tasks that are
// due by then, as long as no campaign runs. An organization without campaigns is told how to begin.
func TestHome(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		b.until(find(".needs li button", "Done"))
		b.until(`!document.querySelector('.skeleton')`)
		b.until(find("main svg text", ""))
		sum := func() int {
			return eval[int](b, `[...document.querySelectorAll('main svg.chart')].flatMap((s) => [...s.querySelectorAll('text')]).filter((e, i) => i % 2 === 0).map((e) => Number(e.textContent)).reduce((a, b) => a + b, 0)`)
		}
		before := sum()
		if before == 0 {
			t.Error("nothing happens in the next days")
		}
		shared.create(t, "/v1/tasks", map[string]any{"title": fmt.Sprint("In two days ", width), "due_at": time.Now().UTC().AddDate(0, 0, 2).Format(time.RFC3339)})
		shared.create(t, "/v1/tasks", map[string]any{"title": fmt.Sprint("In ten days ", width), "due_at": time.Now().UTC().AddDate(0, 0, 10).Format(time.RFC3339)})
		b.ready("/")
		b.until(find(".needs li button", "Done"))
		if after := sum(); after != before+1 {
			t.Errorf("%d are due after a task was added, %d before", after, before)
		}
		b.screenshot(fmt.Sprint("home", width))
	}
	b := open(t, 1280)
	out, err := exec.Command(shared.binary, "user", "invite", "--org", "Southgate Demo", "--email", "ben@southgate.example", "--data-dir", shared.data).Output()
	if err != nil {
		t.Fatalf("user invite: %v", err)
	}
	b.redeem(regexp.MustCompile(`http\S+`).FindString(string(out)))
	b.shows("First steps")
	b.shows("Start a campaign")
	b.screenshot("home-new")
}
