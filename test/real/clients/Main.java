import java.io.IOException;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.EmailsApi;
import org.openapitools.client.api.EventsApi;
import org.openapitools.client.api.SuppressionsApi;
import org.openapitools.client.model.BatchItem;
import org.openapitools.client.model.BatchItemTo;
import org.openapitools.client.model.Error;
import org.openapitools.client.model.SendBatchRequest;
import org.openapitools.client.model.SendRequest;
import org.openapitools.client.model.SendRequestTo;
import org.openapitools.client.model.SuppressionServiceImportRequest;

/** Sends one email, a batch and an import with a client made by openapi-generator, reads them back, and prints the results. */
public class Main {
  public static void main(String[] args) throws ApiException, IOException {
    ApiClient client = new ApiClient().setBasePath(System.getenv("VERDICT_URL"));
    client.setBearerToken(System.getenv("VERDICT_API_KEY"));
    EmailsApi emails = new EmailsApi(client);

    String from = System.getenv("FROM");
    SendRequestTo one = new SendRequestTo();
    one.setActualInstance("delivered@simulator.test");
    var sent = emails.sendEmail(new SendRequest().to(one).from(from).subject("Hello").text("It works."), null, null, null);

    // This generator's okhttp-gson cannot write a list for a value that is a string or a list.
    BatchItemTo full = new BatchItemTo();
    full.setActualInstance("mailbox_full@simulator.test");
    BatchItem item = new BatchItem().to(full).from(from).subject("Hello").text("It works.");
    var batch = emails.sendEmailBatch(new SendBatchRequest().addEmailsItem(item), null, null, null);

    var email = emails.getEmail(sent.getMessageId(), null);
    var events = new EventsApi(client)
        .listEvents(sent.getMessageId(), null, null, null, null, null, null, null, null, null, null, null, null, null);
    var list = new SuppressionServiceImportRequest().addEmailsItem("java@example.com");
    var imported = new SuppressionsApi(client).importSuppressions(list, null);
    String fault;
    try {
      emails.getEmail("msg_unknown", null);
      throw new IllegalStateException("There is no such email.");
    } catch (ApiException exception) {
      fault = Error.fromJson(exception.getResponseBody()).getError();
    }

    System.out.printf(
        "{\"sent\":\"%s\",\"code\":%d,\"batch\":\"%s\",\"subject\":\"%s\",\"events\":%d,\"imported\":%d,\"error\":\"%s\"}%n",
        sent.getStatus(), sent.getSmtp().getCode(), batch.getResults().get(0).getReason(), email.getSubject(),
        events.getEvents().size(), imported.getImported(), fault);
    System.exit(0);
  }
}
