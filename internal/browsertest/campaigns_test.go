package browsertest

import (
	"fmt"
	"testing"
)

// busyCampaign makes a campaign look as if it sent something whenever it is read, and counts what is read of it.
const busyCampaign = `(() => { const real = fetch; window.read = { stats: 0, simulate: 0 }; window.fetch = async (url, options) => {
	const [, what] = /campaigns\/[^/]+\/(stats|simulate)$/.exec(url) || [];
	const answer = await real(url, options);
	if (!what) return answer;
	const body = await answer.json();
	read[what]++;
	if (what === 'stats') body.data.messages_sent = 100 + read.stats;
	else body.summary.per_day = [{ date: '2030-01-0' + read.simulate, sends: 700 + read.simulate, tasks: 0 }];
	return new Response(JSON.stringify(body), { headers: answer.headers });
}; return true; })()`

// TestPlanAgain leaves the page of a running campaign open. Its counts are read every few seconds, and its plan, which is
// dear, when a minute has passed and something has happened.
func TestPlanAgain(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	b.ready("/campaigns")
	_ = eval[bool](b, busyCampaign)
	b.click("tbody a", "Buyers, by email")
	plan := func(n int) { b.until(find("main svg text", fmt.Sprint(700+n))) }
	b.until(`read.stats === 1`)
	plan(1)
	b.until(`read.stats === 3`)
	b.shows("103 emails sent")
	if n := eval[int](b, `read.simulate`); n != 1 {
		t.Errorf("the plan was read %d times within a minute", n)
	}
	_ = eval[bool](b, `(() => { const now = Date.now; Date.now = () => now() + 61e3; return true; })()`)
	plan(2)
}
