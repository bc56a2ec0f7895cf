package sequence

import (
	"github.com/google/uuid"

	"prospector/internal/outreach"
	"prospector/internal/shape"
	"prospector/store"
)

// MailStatus is whether messages can be sent. It has nothing that only the operator should know, such as the
// host of the mail server, the user or an answer of the server.
type MailStatus struct {
	Transport     string     `json:"transport" rule:"enum=outbox|smtp" doc:"What delivers messages. outbox captures them and sends nothing."`
	Status        string     `json:"status" rule:"enum=ok|unavailable|delivery_unknown" doc:"unavailable while no message can be sent because of the mail server. delivery_unknown while a campaign of the organization is held because the mail server did not confirm its messages."`
	Stage         shape.Text `json:"stage" doc:"The stage of the SMTP dialog that fails: connect, TLS, greeting, EHLO, STARTTLS, login or MAIL FROM."`
	RetryAt       shape.Time `json:"retry_at" doc:"When sending is tried again."`
	InFlight      int        `json:"in_flight" doc:"The number of messages that are being handed to the mail server, of all organizations."`
	HeldCampaigns int        `json:"held_campaigns" doc:"The number of campaigns of the organization that are held."`
}

// MailStatus returns whether messages of an organization can be sent.
func (e *Engine) MailStatus(tx *store.Tx) (s MailStatus, err error) {
	stats := e.MailStats()
	s = MailStatus{Transport: e.TransportName(uuid.Nil), Status: "ok", Stage: shape.Text(stats.OutageStage), InFlight: stats.InFlight}
	if stats.OutageStage != "" {
		s.Status, s.RetryAt = "unavailable", shapeTime(e.dispatcher.backoffUntil(tx.Now()))
	}
	ids, err := e.outreach.CampaignsWith(tx, outreach.CampaignActive, outreach.CampaignPaused)
	if err != nil {
		return s, err
	}
	for _, id := range ids {
		c, err := e.outreach.Campaigns.Get(tx, id)
		if err != nil {
			return s, err
		}
		if c.Record.Held == nil {
			continue
		}
		s.HeldCampaigns++
		if c.Record.Held.Reason == outreach.HeldDeliveryUnknown && s.Status == "ok" {
			s.Status = string(outreach.HeldDeliveryUnknown)
		}
	}
	return s, nil
}
