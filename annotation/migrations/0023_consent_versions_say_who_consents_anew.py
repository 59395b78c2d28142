from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("annotation", "0022_quotas_of_strata")]

    operations = [
        migrations.RenameField(model_name="consentversion", old_name="asks", new_name="reconsent"),
    ]
