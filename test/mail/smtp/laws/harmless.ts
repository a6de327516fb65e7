// Sentences that servers add to a reply and that say nothing about why it was refused: help, links, thanks.

export const HARMLESS = `
Please contact your administrator.
Please contact your mail provider if you need help.
Please contact the postmaster for assistance.
Please see https://support.example.org/help for details.
Please visit https://www.example.org/errors?id=17 for more information.
Please check the address for typos and send the message once more.
Please double-check the spelling of the address.
Please do not reply to this message.
Please quote the reference 4711 when you write to us.
Please forward this message to your IT department.
Please call our help desk on +1 555 0100.
For more information see https://postmaster.example.org/
For further assistance, contact our support team.
For help, visit https://help.example.org/mail/12?hl=en
If you believe that this is a mistake, contact support@example.org.
If you have questions, write to postmaster@example.org.
If you need help, ask your account manager.
Your account manager can tell you more.
See the user guide.
See our website for details.
See https://www.example.org/
More information is available at https://www.example.org/mail
Thank you.
Thank you for your understanding.
Thanks for your patience!
We are sorry for the inconvenience.
We apologize for any inconvenience.
This is an automatic message.
Message returned to sender.
Returning message to sender.
Have a nice day.
Reference: 8f3a-22.
Contact customer service for help.
Visit our user portal to learn more.
Refer to the administrator guide.
Questions? Write to help@example.org.
Bitte wenden Sie sich an Ihren Administrator.
Bitte kontaktieren Sie den Support.
Bitte prüfen Sie die Schreibweise.
Bitte lesen Sie https://hilfe.example.org/fehler
Bitte besuchen Sie unsere Hilfeseite.
Weitere Informationen finden Sie unter https://hilfe.example.org/
Weitere Hinweise: https://hilfe.example.org/mail
Siehe https://hilfe.example.org/
Siehe auch unser Benutzerhandbuch.
Bei Fragen hilft Ihnen unser Support.
Bei Fragen wenden Sie sich an den Kundendienst.
Ihr Kundenberater hilft Ihnen gern weiter.
Vielen Dank.
Vielen Dank für Ihr Verständnis.
Danke!
Wir bitten um Entschuldigung.
Dies ist eine automatische Nachricht.
Einen schönen Tag noch.
Mit freundlichen Grüßen.
Mehr dazu auf unserer Webseite.
Hilfe finden Sie auf https://hilfe.example.org/
Veuillez contacter votre administrateur.
Veuillez contacter le support.
Veuillez consulter https://aide.example.org/erreurs
Veuillez vérifier l'orthographe.
Veuillez visiter notre page d'aide.
Pour plus d'informations, consultez https://aide.example.org/
Pour en savoir plus, visitez notre site.
Pour toute question, contactez notre support.
Voir https://aide.example.org/
Voir aussi notre guide.
Si vous avez des questions, écrivez-nous.
Si vous pensez qu'il s'agit d'une erreur, contactez-nous.
Votre conseiller peut vous en dire plus.
Merci.
Merci de votre compréhension.
Merci beaucoup !
Nous vous prions de nous excuser.
Ceci est un message automatique.
Bonne journée.
Cordialement.
Plus d'informations sur notre site.
Por favor, contacte con su administrador.
Por favor, contacte con el soporte.
Por favor, consulte https://ayuda.example.org/errores
Por favor, visite nuestra página de ayuda.
Por favor, revise la ortografía.
Para más información, visite https://ayuda.example.org/
Para más detalles, consulte nuestra página.
Para obtener ayuda, escriba a soporte@example.org.
Consulte la guía.
Vea https://ayuda.example.org/
Si tiene preguntas, escríbanos.
Si cree que es un error, contacte con nosotros.
Su asesor puede decirle más.
Gracias.
Muchas gracias.
Gracias por su comprensión.
Lamentamos las molestias.
Este es un mensaje automático.
Que tenga un buen día.
Un saludo.
Más información en nuestra página.
Si prega di contattare l'amministratore.
Si prega di contattare il supporto.
Si prega di consultare https://aiuto.example.org/errori
Si prega di verificare l'ortografia.
Per favore, contatti il supporto.
Per ulteriori informazioni, visiti https://aiuto.example.org/
Per maggiori dettagli, consulti la nostra pagina.
Per assistenza, scriva a supporto@example.org.
Consulti la guida.
Vedi https://aiuto.example.org/
Se ha domande, ci scriva.
Se ritiene che si tratti di un errore, ci contatti.
Il suo consulente può dirle di più.
Grazie.
Grazie mille.
Grazie per la comprensione.
Ci scusiamo per il disagio.
Questo è un messaggio automatico.
Buona giornata.
Cordiali saluti.
Altre informazioni sul nostro sito.
Por favor, contate o seu administrador.
Por favor, entre em contato com o suporte.
Por favor, consulte https://ajuda.example.org/erros
Por favor, verifique a ortografia.
Por favor, visite a nossa página de ajuda.
Para mais informações, visite https://ajuda.example.org/
Para mais detalhes, consulte a nossa página.
Para obter ajuda, escreva para suporte@example.org.
Consulte o guia.
Veja https://ajuda.example.org/
Se tiver dúvidas, escreva-nos.
Se acredita que é um erro, contate-nos.
O seu gerente pode dizer mais.
Obrigado.
Muito obrigado.
Obrigado pela compreensão.
Pedimos desculpa pelo incómodo.
Esta é uma mensagem automática.
Tenha um bom dia.
Atenciosamente.
Mais informações no nosso site.
Neem contact op met uw beheerder.
Neem contact op met de helpdesk.
Raadpleeg https://hulp.example.org/fouten
Bezoek onze hulppagina.
Controleer de spelling.
Voor meer informatie, zie https://hulp.example.org/
Voor meer details, bezoek onze website.
Voor hulp, schrijf naar hulp@example.org.
Zie https://hulp.example.org/
Zie ook onze handleiding.
Als u vragen hebt, schrijf ons.
Als u denkt dat dit een vergissing is, neem contact op.
Uw adviseur kan u meer vertellen.
Bedankt.
Hartelijk dank.
Dank voor uw begrip.
Onze excuses voor het ongemak.
Dit is een automatisch bericht.
Een fijne dag.
Met vriendelijke groet.
Meer informatie op onze website.
Prosimy o kontakt z administratorem.
Prosimy o kontakt z pomocą techniczną.
Prosimy odwiedzić https://pomoc.example.org/
Prosimy sprawdzić pisownię.
Więcej informacji: https://pomoc.example.org/bledy
Więcej szczegółów na naszej stronie.
W razie pytań prosimy o kontakt.
Jeśli uważasz, że to pomyłka, napisz do nas.
Zobacz https://pomoc.example.org/
Zobacz także nasz przewodnik.
Twój doradca powie więcej.
Dziękujemy.
Dziękujemy za wyrozumiałość.
Dziękuję!
Przepraszamy za niedogodności.
To jest wiadomość automatyczna.
Miłego dnia.
Z poważaniem.
Pomoc: https://pomoc.example.org/
Numer zgłoszenia 4711.
Napisz do pomoc@example.org.
`
  .trim()
  .split('\n')
